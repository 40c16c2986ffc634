/**
 * Declarations of settings: environment variables with a default, a description and a reader. `config.ts` merges them and is the
 * only reader of `process.env`. `npm run docs` generates the configuration page from the same declarations.
 */
export type Mode = 'sandbox' | 'production'

export type Setting<T> = {
  /** Default as shown in the documentation. */
  readonly default: string
  readonly description: string
  /** True: the value is printed as `[set]` only. */
  readonly secret?: true
  /** Parses the value; `undefined` if the variable is not set. Throws an Error whose message completes "NAME ...". */
  readonly read: (text: string | undefined, mode: Mode) => T
}
export type Settings = Readonly<Record<string, Setting<unknown>>>
/** The values of declared settings, by name. */
export type SettingValues<S extends Settings> = { readonly [K in keyof S]: ReturnType<S[K]['read']> }

export function refuseSetting(reason: string): never {
  throw new Error(reason)
}

export const integer = (min: number, max: number, defaultValue: number) => (text: string | undefined) => {
  if (text === undefined) return defaultValue
  const value = Number(text)
  return /^\d+$/.test(text) && value >= min && value <= max
    ? value
    : refuseSetting(`must be a whole number from ${min} to ${max}`)
}

export const oneOf =
  <T extends string>(values: readonly T[], defaultValue: T) =>
  (text: string | undefined): T =>
    text === undefined
      ? defaultValue
      : (values.find((value) => value === text) ?? refuseSetting(`must be one of ${values.join(', ')}`))

export const onOff = (defaultValue: 'on' | 'off') => (text: string | undefined) =>
  oneOf(['on', 'off'], defaultValue)(text) === 'on'

export const url = (protocols: readonly string[]) => (text: string | undefined) => {
  if (text === undefined) return undefined
  const { protocol } = URL.canParse(text) ? new URL(text) : refuseSetting(`must be a URL of ${protocols.join(' or ')}`)
  return protocols.includes(protocol.slice(0, -1))
    ? text
    : refuseSetting(`must begin with ${protocols.map((name) => `${name}://`).join(' or ')}`)
}

export const text = (defaultValue: string) => (value: string | undefined) => value ?? defaultValue

export const portMax = 65_535
/** Upper bound for counts of processes and threads, far above any tested machine. */
export const processesMax = 128

// Reads the fields of a JSON object in a setting. Each refusal is one line that names the field by its path.

export type Fields = {
  readonly path: string
  readonly given: Readonly<Record<string, unknown>>
}

const nameOf = ({ path }: Fields, key: string): string => (path === '' ? key : `${path}.${key}`)
export const refuseSettingField = (fields: Fields, key: string, what: string): never =>
  refuseSetting(`must give ${nameOf(fields, key)}: ${what}`)

/**
 * Reads an object with these fields. Refuses other fields, because the default of a misspelt field would apply
 * unnoticed.
 */
export function readFields(value: unknown, path: string, names: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuseSetting(`must give ${path} as an object`)
  const given = value as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).find((key) => !names.includes(key))
  if (unknown !== undefined)
    return refuseSetting(`must have no field ${nameOf({ path, given }, unknown)}: the fields are ${names.join(', ')}`)
  return { path, given }
}

export const readNestedFields = (fields: Fields, key: string, names: readonly string[]): Fields =>
  readFields(fields.given[key], nameOf(fields, key), names)

/** Reads the items of a list, each with its path. */
export function readListField(fields: Fields, key: string, missing?: readonly unknown[]): readonly [unknown, string][] {
  const value = fields.given[key] ?? missing
  if (!Array.isArray(value)) return refuseSettingField(fields, key, 'a list')
  return (value as readonly unknown[]).map((item, index) => [item, `${nameOf(fields, key)}[${index}]`])
}

export function readOptionalText(fields: Fields, key: string, charsMax = 140): string | undefined {
  return fields.given[key] === undefined ? undefined : readTextField(fields, key, charsMax)
}

export function readTextField(fields: Fields, key: string, charsMax = 140): string {
  const value = fields.given[key]
  return typeof value === 'string' && value.trim() !== '' && value.length <= charsMax
    ? value.trim()
    : refuseSettingField(fields, key, `a text of 1 to ${charsMax} characters`)
}

export function readIntegerField(
  fields: Fields,
  key: string,
  [min, max]: readonly [number, number],
  missing: number,
): number {
  const value = fields.given[key] ?? missing
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
    ? value
    : refuseSettingField(fields, key, `a whole number from ${min} to ${max}`)
}

export function readBooleanField(fields: Fields, key: string, missing: boolean): boolean {
  const value = fields.given[key] ?? missing
  return typeof value === 'boolean' ? value : refuseSettingField(fields, key, 'true or false')
}

export function readChoiceField<T extends string>(fields: Fields, key: string, choices: readonly T[], missing?: T): T {
  const value = fields.given[key] ?? missing
  return choices.find((choice) => choice === value) ?? refuseSettingField(fields, key, `one of ${choices.join(', ')}`)
}

/** Parses `HH:MM` to minutes after midnight. `24:00` is the end of the day. */
export function readTimeOfDay(fields: Fields, key: string, missing: string): number {
  const value = fields.given[key] ?? missing
  const [, hours, minutes] = (typeof value === 'string' ? /^([01]\d|2[0-4]):([0-5]\d)$/.exec(value) : null) ?? []
  const total = Number(hours) * 60 + Number(minutes)
  return hours !== undefined && total <= 24 * 60
    ? total
    : refuseSettingField(fields, key, 'a time of the day such as 16:00')
}
