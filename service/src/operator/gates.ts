/** Commands for the gates of a partner: what its customers may do in each state of their verification. */
import { type Capability, capabilities, verificationStates } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { type Currency, isCurrency, type Minor } from '../kernel/index.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readChoice, readMoney, required } from './options.ts'

const readState = (options: Options) => readChoice({ state: required(options, 'state') }, 'state', verificationStates)

/** Reads `OpenAccount,Pay`, or `none`. */
function readAllowed(options: Options): readonly Capability[] {
  const text = required(options, 'allow')
  if (text === 'none') return []
  return text.split(',').map((name) => {
    const found = capabilities.find((each) => each === name)
    if (found === undefined)
      throw new ConfigError(
        `operator: --allow must be none, or a list of ${capabilities.join(',')}; ${name} is neither`,
      )
    return found
  })
}

/** Reads `EUR=150.00,USD=150.00`: the largest balance of a customer in each currency. */
function readBalances(options: Options): Readonly<Partial<Record<Currency, Minor>>> {
  const text = options['hold-up-to']
  if (text === undefined) return {}
  const maxima: Partial<Record<Currency, Minor>> = {}
  for (const part of text.split(',')) {
    const [currency = '', amount] = part.split('=')
    if (!isCurrency(currency) || amount === undefined || currency in maxima)
      throw new ConfigError(`operator: --hold-up-to must be amounts such as EUR=150.00,USD=150.00; ${part} is none`)
    maxima[currency] = readMoney({ ...options, 'hold-up-to': amount }, 'hold-up-to', currency)
  }
  return maxima
}

export const gateCommands = {
  /** Sets what the state allows, or replaces it. */
  'gate set': (context: Context, options: Options) => {
    const gate = {
      ...{ partnerId: required(options, 'partner'), state: readState(options), allowed: readAllowed(options) },
      balancesMax: readBalances(options),
    }
    return decided(context, { command: 'gate set', options }, (tx) => context.service.customers.gates.set(tx, gate))
  },

  'gate list': ({ service: { customers }, db }: Context, options: Options) =>
    customers.gates.list(db, required(options, 'partner')),

  /** Gives the state the default of the installation again. */
  'gate remove': (context: Context, options: Options) =>
    decided(context, { command: 'gate remove', options }, (tx) =>
      context.service.customers.gates.remove(tx, required(options, 'partner'), readState(options)),
    ),
}
