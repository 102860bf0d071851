/** First match wins: most browsers also name those they derive from. */
const BROWSERS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bEdgA?(iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|HeadlessChrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
]
const SYSTEMS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(iPhone|iPod)\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Browser and system by their usual names; null for unknown ones. */
export function browserName(user_agent: string | null): { browser: string | null; system: string | null } {
  const first = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(user_agent ?? ''))?.[1] ?? null
  return { browser: first(BROWSERS), system: first(SYSTEMS) }
}

/** Whether it is a phone, by its user agent. */
export function isPhone(user_agent: string | null): boolean {
  return /\b(iPhone|iPod|Mobile)\b/.test(user_agent ?? '')
}
