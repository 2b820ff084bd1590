// Notices of alerts in this browser: one tab at a time asks for new alerts, and each is shown once.
import { get } from "./api";

interface Alert {
  id: string;
  seq: number;
  title: string;
  detail: string;
  run_id: string | null;
}

const wanted = "lyceum-notices";
const lastSeen = "lyceum-last-alert";
const every = 30_000;

/** Whether notices are wanted and allowed. */
export const hasNotices = (): boolean =>
  "Notification" in window && Notification.permission === "granted" && localStorage.getItem(wanted) === "yes";

/** Asks for permission and begins with the alerts that come from now on. Returns whether notices are shown now. */
export async function allowNotices(): Promise<boolean> {
  if (!("Notification" in window) || (await Notification.requestPermission()) !== "granted") return false;
  const { items } = await get<{ items: Alert[] }>("/api/v1/alerts?limit=1");
  localStorage.setItem(lastSeen, String(items[0]?.seq ?? 0));
  localStorage.setItem(wanted, "yes");
  return true;
}

export function stopNotices(): void {
  localStorage.removeItem(wanted);
}

function show(alert: Alert): void {
  // Tabs that ask at the same moment show one notice, since it has a tag.
  const notice = new Notification(alert.title, { body: alert.detail, tag: alert.id });
  notice.addEventListener("click", () => {
    window.focus();
    location.assign(alert.run_id ? `/runs/${alert.run_id}` : "/alerts");
  });
}

/** Shows alerts raised since the last one that was seen in any tab. */
async function look(): Promise<void> {
  if (!hasNotices()) return;
  const { items } = await get<{ items: Alert[] }>("/api/v1/alerts?limit=10");
  const seen = Number(localStorage.getItem(lastSeen) ?? 0);
  const news = items.filter((alert) => alert.seq > seen).reverse();
  const newest = news.at(-1);
  if (!newest) return;
  localStorage.setItem(lastSeen, String(newest.seq));
  news.forEach(show);
}

export function startNotices(): void {
  setInterval(() => void look().catch(() => undefined), every);
}
