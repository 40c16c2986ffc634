/** Common names of twelve countries, of @faker-js/faker, in the order of a seed. */
import { allFakers } from '@faker-js/faker'

/** `Arabic` stands for the countries that write Arabic: the package has one list for them. */
const countries = {
  'United States': 'en_US',
  Germany: 'de',
  France: 'fr',
  Poland: 'pl',
  Spain: 'es',
  Mexico: 'es_MX',
  Turkey: 'tr',
  Russia: 'ru',
  India: 'en_IN',
  Arabic: 'ar',
  China: 'zh_CN',
  Korea: 'ko',
} as const

/** Gives `count` different names of a given and a family name for each country. */
export function commonNames(seed: number, count: number): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.entries(countries).map(([country, locale]) => {
      const { person } = allFakers[locale]
      allFakers[locale].seed(seed)
      const names = new Set<string>()
      while (names.size < count) names.add(nameOf(locale, person.firstName(), person.lastName()))
      return [country, [...names]]
    }),
  )
}

/** Chinese and Korean names have the surname first, and no space. */
const nameOf = (locale: string, given: string, family: string): string =>
  locale === 'ko' || locale === 'zh_CN' ? `${family}${given}` : `${given} ${surname(locale, family)}`

/** Keeps the first of two Spanish surnames, which most people use alone. */
const surname = (locale: string, text: string): string =>
  locale.startsWith('es') ? (text.split(' ')[0] ?? text) : text
