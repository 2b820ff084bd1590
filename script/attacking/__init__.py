"""The parts of script/attack: an instance, what is done to it, and what is found."""
