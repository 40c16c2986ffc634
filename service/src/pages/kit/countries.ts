/** Names of countries in the language of the reader. */
import type { ConsoleView } from './frame.ts'

/** Formats the name of a country with its code. Returns an unknown code unchanged. */
export function countryName({ language }: Pick<ConsoleView, 'language'>, code: string): string {
  const name = /^[A-Z]{2}$/.test(code) ? new Intl.DisplayNames([language], { type: 'region' }).of(code) : undefined
  return name === undefined || name === code ? code : `${name} (${code})`
}
