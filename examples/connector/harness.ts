/** Adapts the example connector and its bank to the conformance kit. */
import { currencies } from '../../service/src/kernel/index.ts'
import type { Behaviour, Disorder, Fault, Harness } from '../../service/src/banks/conformance/index.ts'
import { startBank, type Weather } from './bank.ts'
import { createExampleConnector } from './connector.ts'

/** The amounts by which the bank decides (records.ts), in cents. */
const amounts: Readonly<Partial<Record<Behaviour, bigint>>> = {
  refuse: 71_01n,
  reject: 71_02n,
  return: 71_03n,
  'answer later': 71_04n,
}

const partnerIds = ['0190a6f0-0000-7000-8000-000000000001', '0190a6f0-0000-7000-8000-000000000002'] as const

export async function startHarness(): Promise<Harness & { readonly close: () => Promise<void> }> {
  const { weather, ...orders } = createWeather()
  const bank = await startBank(weather)
  return {
    open: async () => ({ connector: createExampleConnector({ url: bank.url }), close: async () => undefined }),
    partnerIds,
    currencies: ['EUR', 'USD', 'USDC'],
    prepare: (instruction, behaviour) => ({ ...instruction, amount: amounts[behaviour] ?? instruction.amount }),
    breakNext: orders.breakNext,
    disturb: orders.disturb,
    mend: () => {
      orders.mend()
      bank.sendHeld()
    },
    // The bank sends its messages at once.
    letTimePass: async () => undefined,
    recordOf: async ({ partnerId, endToEndId }) => {
      // By the end-to-end id, so that a payment under another reference counts as well.
      const orders = bank
        .statement()
        .filter(({ endToEnd, onBehalfOf }) => endToEnd === endToEndId && onBehalfOf === partnerId)
      const [order] = orders
      if (order === undefined) return undefined
      const { payee, purpose, currency, amount } = order
      const sum = (name: 'timesReceived' | 'timesExecuted') => orders.reduce((total, each) => total + each[name], 0)
      const code = currency as keyof typeof currencies
      return {
        endToEndId,
        amount: minorOf(amount, currencies[code].digits),
        currency: code,
        creditorName: payee.name,
        creditorAccount: payee.account,
        creditorBic: payee.bank,
        remittance: purpose,
        timesReceived: sum('timesReceived'),
        timesExecuted: sum('timesExecuted'),
      }
    },
    openCalls: bank.openCalls,
    close: bank.close,
  }
}

function minorOf(text: string, digits: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole) * 10n ** BigInt(digits) + BigInt(fraction.padEnd(digits, '0'))
}

/** The faults that are ordered, and the weather of the bank that follows from them. */
function createWeather() {
  let fault: Fault | undefined
  let disorder: Disorder | undefined
  const weather: Weather = {
    fault: () => {
      const now = fault
      if (now !== 'hang') fault = undefined
      return now
    },
    disorder: (messages) => {
      if (disorder === 'repeat') return messages.flatMap((message) => [message, message])
      return disorder === 'reverse' ? messages.toReversed() : messages
    },
    holds: () => {
      const isHeld = disorder === 'delay'
      if (isHeld) disorder = undefined
      return isHeld
    },
  }
  return {
    weather,
    breakNext: (next: Fault) => (fault = next),
    disturb: (next: Disorder) => (disorder = next),
    mend: () => {
      fault = undefined
      disorder = undefined
    },
  }
}
