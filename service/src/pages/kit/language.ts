/** The language, locale and time zone of a reader. Cookies of the browser keep the choices. */
import { type PublicRequest, readCookie } from '../../kernel/api/index.ts'
import { acceptedTags, preferredLanguage } from '../language.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'

export const consoleLanguages = ['en', 'de'] as const
export type ConsoleLanguage = (typeof consoleLanguages)[number]

export const consoleTexts: Readonly<Record<ConsoleLanguage, Texts>> = { en, de }

/** The cookies of the choices. The script of the pages writes the zone of the browser (`browser/console.js`). */
export const languageCookie = '__Host-language'
export const zoneCookie = '__Host-zone'
const browserZoneCookie = '__Host-browser-zone'

export const isLanguage = (text: string): text is ConsoleLanguage => consoleLanguages.some((each) => each === text)

/** Reports whether a text is the name of a time zone. */
export function isZone(text: string): boolean {
  try {
    return text !== '' && new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** Returns the locale of the language that the browser names, such as `en-GB`. */
function browserLocale(language: ConsoleLanguage, header: string | undefined): string {
  const tag = acceptedTags(header ?? '').find((each) => each.split('-', 1)[0] === language) ?? language
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? language
  } catch {
    return language
  }
}

export type ReaderPreferences = {
  readonly language: ConsoleLanguage
  readonly locale: string
  /** The zone that the person chose. Absent: the zone of the browser. */
  readonly chosenZone?: string
  /** Absent: the browser has not sent its zone yet. */
  readonly zone?: string
}

export function readReaderPreferences({ headers }: Pick<PublicRequest, 'headers'>): ReaderPreferences {
  const { cookie, 'accept-language': accepted } = headers
  const language = preferredLanguage(consoleLanguages, readCookie(cookie, languageCookie) ?? null, accepted) ?? 'en'
  const [chosenZone, browserZone] = [zoneCookie, browserZoneCookie]
    .map((name) => readCookie(cookie, name) ?? '')
    .map(decodeCookie)
  const chosen = chosenZone !== undefined && isZone(chosenZone) ? { chosenZone, zone: chosenZone } : undefined
  const zone = browserZone !== undefined && isZone(browserZone) ? { zone: browserZone } : undefined
  return { language, locale: browserLocale(language, accepted), ...(chosen ?? zone) }
}

function decodeCookie(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
