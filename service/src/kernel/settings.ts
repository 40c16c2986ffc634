/**
 * How a folder declares its settings: environment variables with a default, a description and a reader. `config.ts` merges
 * all of them and is the only reader of `process.env`; `npm run docs` makes the page of the configuration from the same declarations.
 */
export type Mode = 'sandbox' | 'production'

export type Setting<T> = {
  /** Default as shown in the documentation. */
  readonly default: string
  readonly description: string
  /** Printed as `[set]`, never as its value. */
  readonly secret?: true
  /** `undefined`: the variable is not set. Throws an Error whose message completes "NAME ...". */
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
/** A sanity limit for counts of processes and threads: far above any machine this was tried on. */
export const coresMax = 128
