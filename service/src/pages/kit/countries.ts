/** Countries by their names in the language of the reader. */
import type { ConsoleView } from './frame.ts'

/** Writes the name of a country with its code. An unknown code stays unchanged. */
export function countryName({ language }: Pick<ConsoleView, 'language'>, code: string): string {
  const name = /^[A-Z]{2}$/.test(code) ? new Intl.DisplayNames([language], { type: 'region' }).of(code) : undefined
  return name === undefined || name === code ? code : `${name} (${code})`
}
