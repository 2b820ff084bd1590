// Formats values like `server/src/frame/format.rs`. tests/formats.json holds both to the same cases.

/** A number with the separator of thousands that pages have everywhere. */
export const grouped = (value: number, digits: Intl.NumberFormatOptions): string =>
  signed(value.toLocaleString("en", digits).replaceAll(",", "\u202f"));

const signed = (text: string): string => text.replace(/^-/, "−");

/** A measured value, to four digits; shares are in per cent. */
export function measure(value: number | null | undefined, unit = ""): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (unit === "share") return `${size >= 0.01 ? grouped(100 * value, { maximumFractionDigits: 1 }) : measure(100 * value)} %`;
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return signed(value.toExponential(2).replace("e+", "e"));
  return grouped(value, size < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 0 });
}

/** A duration in its two largest units. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "–";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  const days = `${Math.floor(whole / 86_400)} d`;
  return whole % 86_400 < 3600 ? days : `${days} ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** A size in bytes. */
export function bytes(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(units.length - 1, size > 0 ? Math.floor(Math.log2(size) / 10) : 0);
  const scaled = size / 1024 ** unit;
  return `${scaled.toFixed(unit === 0 || scaled >= 100 ? 0 : 1)} ${units[unit]}`;
}
