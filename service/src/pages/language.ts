/** The language of a page: `?lang=` first, then `Accept-Language` (RFC 9110, section 12.5.4), else English. */
import { html, type Html } from './html.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'
import { es } from './texts/es.ts'
import { fr } from './texts/fr.ts'
import { lt } from './texts/lt.ts'

export const languages = ['en', 'de', 'fr', 'es', 'lt'] as const
export type Language = (typeof languages)[number]

export const texts: Readonly<Record<Language, Texts>> = { en, de, fr, es, lt }

/** Lists the language tags that a browser accepts, in lower case and by preference, without those of `q=0`. */
export function acceptedTags(header: string): readonly string[] {
  return header
    .split(',')
    .map((item) => {
      const [tag = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
      return { tag, quality: quality === undefined ? 1 : Number(quality) || 0 }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((left, right) => right.quality - left.quality)
    .map(({ tag }) => tag)
}

/** Chooses a language of the pages. Undefined: the reader accepts none of them. */
export function preferredLanguage<Known extends string>(
  known: readonly Known[],
  chosen: string | null,
  header: string | undefined,
): Known | undefined {
  const isKnown = (text: string): text is Known => known.some((language) => language === text)
  if (chosen !== null && isKnown(chosen)) return chosen
  return acceptedTags(header ?? '')
    .map((tag) => tag.split('-', 1)[0] ?? '')
    .find(isKnown)
}

export const chooseLanguage = (chosen: string | null, header: string | undefined): Language =>
  preferredLanguage(languages, chosen, header) ?? 'en'

/** Replaces `{name}` in a text by other texts or by HTML. */
export const fillHtml = (text: string, values: Readonly<Record<string, string | Html>>): Html =>
  html`${text.split(/(\{\w+\})/u).map((part) => {
    const value = values[/^\{(\w+)\}$/u.exec(part)?.[1] ?? ''] ?? part
    return typeof value === 'string' ? html`${value}` : value
  })}`

/** Replaces `{name}` in a text. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder)
