// What goes on, kept fresh while somebody looks: the first running runs are followed by their events, and runs that begin
// elsewhere are found every so often.
import { island } from "../island";
import { watch } from "../live";
import { replacePart } from "../part";

const every = 15_000;
const refresh = () => void replacePart("now", "/now");

for (const followed of island<{ run: string; last_event: number }[]>()) {
  watch(followed.run, followed.last_event, refresh, 1500);
}
setInterval(() => {
  if (!document.hidden) refresh();
}, every);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
