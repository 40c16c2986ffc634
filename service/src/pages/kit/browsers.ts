/** Names a browser by its user agent: "Firefox on Windows". A program has its own name, such as `curl`. */

type Known = readonly (readonly [pattern: RegExp, name: string])[]

// Each browser also names those that it resembles: the rarer name is asked first.
const browsers: Known = [
  [/\bEdgA?(?:iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//, 'Safari'],
]
const systems: Known = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bLinux\b/, 'Linux'],
]

const nameIn = (known: Known, userAgent: string): string | undefined =>
  known.find(([pattern]) => pattern.test(userAgent))?.[1]

/** `on`: a text with `{browser}` and `{system}`. An unknown program is named by its first word. */
export function browserName(userAgent: string, on: string): string {
  const [browser, system] = [nameIn(browsers, userAgent), nameIn(systems, userAgent)]
  if (browser === undefined) return /^[\w.-]{1,40}/.exec(userAgent)?.[0] ?? ''
  return system === undefined ? browser : on.replace('{browser}', browser).replace('{system}', system)
}
