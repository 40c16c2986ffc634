/** Pure: the browser and the system of a user agent, in words. Only these words are shown, so that the header cannot write a text of its own. */

/** Browsers in the order in which they are tried: Edge, Opera and Samsung also name Chrome, and Chrome also names Safari. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Microsoft Edge'],
  [/\b(?:OPR|Opera|OPT)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
]

/** Systems in the order in which they are tried: Android names Linux, and an iPhone names Mac OS X. An iPad says that it is a Mac, unless it is asked for the mobile site. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows NT\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** The browser and the system, for example `Firefox on Windows`. */
export function deviceOf(userAgent: string): string {
  const [browser, system] = [browsers, systems].map((words) => words.find(([form]) => form.test(userAgent))?.[1])
  if (browser === undefined && system === undefined) return 'an unknown browser'
  return `${browser ?? 'an unknown browser'} on ${system ?? 'an unknown system'}`
}
