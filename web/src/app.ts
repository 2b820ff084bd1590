// What every page has: the theme, times that age, buttons that act, lines to copy.
import { startActions } from "./actions";
import { startCopying } from "./copy";
import { startForms } from "./forms";
import { startTabs } from "./tabs";
import { startTheme } from "./theme";
import { startTimes } from "./times";

startTheme();
startTabs();
startTimes();
startCopying();
startActions();
startForms();
