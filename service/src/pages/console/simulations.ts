/** The simulations of the sandbox that have a form: the operation of each, its fields, and what its answer leads to. */
import { eventNames, type OperationId, simulations } from '@partner-payments/wire'
import type { SimulationField, SimulationName } from './texts/simulations.ts'

/** `amount` is sent with its exact digits, `count` as a number, `switch` as true or false, `path` in the path of the operation. */
type Kind = 'text' | 'amount' | 'count' | 'switch' | 'path'

export type SimulatedField = {
  readonly name: SimulationField
  readonly kind: Kind
  readonly optional?: boolean
  /** Values of a choice. Their words are in the dictionary, or they are shown as they are. */
  readonly options?: readonly string[]
  /** Value of a form that is opened. */
  readonly value?: string
}

export type Simulation = {
  readonly operation: OperationId
  readonly fields: readonly SimulatedField[]
  /** Field of the answer that names what was made, and the page that shows it. */
  readonly result?: { readonly field: string; readonly page: 'transaction' | 'events' | 'reversal' | 'none' }
}

const customerId: SimulatedField = { name: 'customerId', kind: 'text' }
const amount: SimulatedField = { name: 'amount', kind: 'amount' }
const currency: SimulatedField = { name: 'currency', kind: 'text', value: 'EUR' }
const outcome = (options: readonly string[]): SimulatedField => ({ name: 'outcome', kind: 'text', options })
const optional = (name: SimulationField, kind: Kind = 'text'): SimulatedField => ({ name, kind, optional: true })

const { depositOutcomes, withdrawalOutcomes, checkoutOutcomes, checkoutSteps } = simulations

export const simulated: Readonly<Record<SimulationName, Simulation>> = {
  deposit: {
    operation: 'simulateDeposit',
    fields: [customerId, amount, currency, outcome(depositOutcomes), optional('websiteReference')],
    result: { field: 'reference', page: 'transaction' },
  },
  withdrawal: {
    operation: 'simulateWithdrawal',
    fields: [customerId, amount, currency, outcome(withdrawalOutcomes)],
    result: { field: 'reference', page: 'transaction' },
  },
  credit: {
    operation: 'simulateCredit',
    fields: [{ name: 'iban', kind: 'text' }, amount, currency, optional('debtorName'), optional('remittance')],
    result: { field: 'creditId', page: 'reversal' },
  },
  reversal: { operation: 'reverseSimulatedCredit', fields: [{ name: 'creditId', kind: 'path' }] },
  checkout: {
    operation: 'simulateCheckoutSession',
    fields: [
      { name: 'sessionId', kind: 'path' },
      { ...outcome(checkoutOutcomes), optional: true },
      { ...optional('step'), options: checkoutSteps },
      optional('amount', 'amount'),
      optional('currency'),
      optional('debtorName'),
      optional('countryCode'),
    ],
    result: { field: 'reference', page: 'transaction' },
  },
  event: {
    operation: 'simulateEvent',
    fields: [{ name: 'eventType', kind: 'text', options: eventNames }],
    result: { field: 'reference', page: 'events' },
  },
  rate: {
    operation: 'simulateFxRates',
    fields: [
      optional('base'),
      optional('quote'),
      optional('rate', 'amount'),
      { ...optional('stale', 'switch'), options: ['true', 'false'] },
    ],
    result: { field: 'asOf', page: 'none' },
  },
  tokens: {
    operation: 'simulateWalletDeposit',
    fields: [{ name: 'walletId', kind: 'path' }, amount, optional('from'), optional('confirmations', 'count')],
    result: { field: 'transactionHash', page: 'none' },
  },
  blocks: {
    operation: 'simulateChainBlocks',
    fields: [{ name: 'count', kind: 'count', value: '3' }],
    result: { field: 'head', page: 'none' },
  },
  reorganisation: {
    operation: 'simulateChainReorganisation',
    fields: [{ name: 'depth', kind: 'count' }],
    result: { field: 'head', page: 'none' },
  },
}

export const simulationNames = Object.keys(simulated) as readonly SimulationName[]
