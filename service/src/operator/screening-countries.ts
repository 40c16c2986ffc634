/** Commands for the rules of countries under embargo. They hold for all partners, so that their records are in the log of the operator. */
import type { CountryAction } from '../screening/index.ts'
import type { Call, CommandsOf, Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { decided } from './limits.ts'

const change = (
  context: Context,
  { countries, for: sides, staff }: OptionsOf<'screening country remove'>,
  call: Call,
  action: CountryAction | null,
) =>
  decided(context, call, async (tx) => ({
    rules: await context.service.screening.countries.change(tx, { countries, sides, action, staff }),
  }))

export const screeningCountryCommands: CommandsOf<`screening country ${string}`> = {
  /** Sets the rules of these countries. The worker then screens all names again. */
  'screening country set': (context, options, call) => change(context, options, call, options.action),

  'screening country list': async ({ service: { screening }, db }) => ({ rules: await screening.countries.list(db) }),

  /** Removes rules. Open hits stay until persons have decided. */
  'screening country remove': (context, options, call) => change(context, options, call, null),
}
