/** Reads the fields of a JSON object that an operator writes. Each refusal is one line that names the field by its path. */
import { refuseSetting } from './settings.ts'

export type Fields = {
  readonly path: string
  readonly given: Readonly<Record<string, unknown>>
}

const nameOf = ({ path }: Fields, key: string): string => (path === '' ? key : `${path}.${key}`)
export const refuseSettingField = (fields: Fields, key: string, what: string): never =>
  refuseSetting(`must give ${nameOf(fields, key)}: ${what}`)

/** An object with these fields and no others: a misspelt field would otherwise leave its default in force. */
export function fieldsOf(value: unknown, path: string, names: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuseSetting(`must give ${path} as an object`)
  const given = value as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).find((key) => !names.includes(key))
  if (unknown !== undefined)
    return refuseSetting(`must have no field ${nameOf({ path, given }, unknown)}: the fields are ${names.join(', ')}`)
  return { path, given }
}

export const nested = (fields: Fields, key: string, names: readonly string[]): Fields =>
  fieldsOf(fields.given[key], nameOf(fields, key), names)

/** The items of a list, each with its path. */
export function listOf(fields: Fields, key: string, missing?: readonly unknown[]): readonly [unknown, string][] {
  const value = fields.given[key] ?? missing
  if (!Array.isArray(value)) return refuseSettingField(fields, key, 'a list')
  return (value as readonly unknown[]).map((item, index) => [item, `${nameOf(fields, key)}[${index}]`])
}

export function optionalText(fields: Fields, key: string, charsMax = 140): string | undefined {
  return fields.given[key] === undefined ? undefined : textOf(fields, key, charsMax)
}

export function textOf(fields: Fields, key: string, charsMax = 140): string {
  const value = fields.given[key]
  return typeof value === 'string' && value.trim() !== '' && value.length <= charsMax
    ? value.trim()
    : refuseSettingField(fields, key, `a text of 1 to ${charsMax} characters`)
}

export function integerOf(
  fields: Fields,
  key: string,
  [min, max]: readonly [number, number],
  missing?: number,
): number {
  const value = fields.given[key] ?? missing
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
    ? value
    : refuseSettingField(fields, key, `a whole number from ${min} to ${max}`)
}

export function booleanOf(fields: Fields, key: string, missing: boolean): boolean {
  const value = fields.given[key] ?? missing
  return typeof value === 'boolean' ? value : refuseSettingField(fields, key, 'true or false')
}

export function choiceOf<T extends string>(fields: Fields, key: string, choices: readonly T[], missing?: T): T {
  const value = fields.given[key] ?? missing
  return choices.find((choice) => choice === value) ?? refuseSettingField(fields, key, `one of ${choices.join(', ')}`)
}

/** `HH:MM` as minutes after midnight; `24:00` is the end of the day. */
export function timeOfDay(fields: Fields, key: string, missing: string): number {
  const value = fields.given[key] ?? missing
  const [, hours, minutes] = (typeof value === 'string' ? /^([01]\d|2[0-4]):([0-5]\d)$/.exec(value) : null) ?? []
  const total = Number(hours) * 60 + Number(minutes)
  return hours !== undefined && total <= 24 * 60
    ? total
    : refuseSettingField(fields, key, 'a time of the day such as 16:00')
}
