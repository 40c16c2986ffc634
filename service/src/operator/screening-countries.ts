/** Commands for the rules of countries under embargo. They hold for all partners, so that their records are in the log of the operator. */
import { operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import { type CountryAction, countryActions, type CountrySide, countrySides } from '../screening/index.ts'
import type { Change } from './changes.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readChoice, required } from './options.ts'

/** Reads `IR,KP`. The verb refuses what is not a country. */
const readCountries = (options: Options): readonly string[] => [
  ...new Set(
    required(options, 'countries')
      .split(',')
      .map((country) => country.trim().toUpperCase()),
  ),
]

const readSides = (options: Options): readonly CountrySide[] =>
  required(options, 'for')
    .split(',')
    .map((text) => {
      const side = countrySides.find((each) => each === text.trim())
      if (side === undefined)
        throw new ConfigError(`operator: --for must be a list of ${countrySides.join(',')}; ${text} is none of them`)
      return side
    })

/** The rules hold for all partners. */
const change = (
  context: Context,
  { command, options }: Pick<Change, 'command' | 'options'>,
  action: CountryAction | null,
) => {
  const countries = readCountries(options)
  const given = { countries, sides: readSides(options), action, staff: required(options, 'staff') }
  return decided(context, { command, options, partnerId: operatorPartnerId }, async (tx) => ({
    rules: await context.service.screening.countries.change(tx, given),
  }))
}

export const screeningCountryCommands = {
  /** Sets the rules of these countries. The worker then screens all names again. */
  'screening country set': (context: Context, options: Options) => {
    const action = readChoice({ action: required(options, 'action') }, 'action', countryActions)
    return change(context, { command: 'screening country set', options }, action)
  },

  'screening country list': async ({ service: { screening }, db }: Context) => ({
    rules: await screening.countries.list(db),
  }),

  /** Removes rules. Open hits stay until persons have decided. */
  'screening country remove': (context: Context, options: Options) =>
    change(context, { command: 'screening country remove', options }, null),
}
