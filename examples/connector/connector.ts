/**
 * A connector to the example bank (bank.ts). It is stateless: after a restart it reads everything from the bank.
 */
import { type ErrorKey, rawNumber } from '@partner-payments/wire'
import { parseAmount, Unreachable } from '../../service/src/kernel/api/index.ts'
import { amountText, type Currency } from '../../service/src/kernel/index.ts'
import type {
  Acknowledgement,
  BankNotification,
  CallOptions,
  Connector,
  Instruction,
} from '../../service/src/rails/index.ts'

const limits = { instructionsPerCallMax: 50, callsMax: 4, callTimeoutMs: 5000 } as const

/** The text for partners for each code of the bank. The bank's own text is internal. */
const reasons: Readonly<Record<string, { readonly errorKey: ErrorKey; readonly details: string }>> = {
  AC01: { errorKey: 'InvalidAccountDetails', details: 'The account does not exist.' },
  AC04: { errorKey: 'BankRejection', details: "The beneficiary's bank sent the payment back." },
  MS03: { errorKey: 'BankRejection', details: 'The bank rejected the payment.' },
}
const otherReason = { errorKey: 'BankRejection', details: 'The bank did not carry out the payment.' } as const

/** The fields of the bank's answers that this connector reads. */
type Order = {
  readonly reference: string
  readonly onBehalfOf: string
  readonly state: string
  readonly code?: string
}
type Message = {
  readonly number: number
  readonly reference: string
  readonly onBehalfOf: string
  readonly event: string
  readonly amount: string
  readonly currency: Currency
  readonly code?: string
  readonly madeAt: string
}

export function createExampleConnector({ url }: { readonly url: string }): Connector {
  const call = createCall(url)
  const messages = (after: number, limit: number, options?: CallOptions) =>
    call<{ readonly messages: readonly Message[] }>(`/messages?after=${after}&limit=${limit}`, undefined, options)
  return {
    id: 'example',
    limits,
    forecast: (_payment, at) => {
      // The bank has no cut-off, and pays on the same day.
      const day = at.toISOString().slice(0, 10)
      return {
        possible: true,
        method: 'SepaCreditTransfer',
        cutOffAt: null,
        submitsAt: at,
        valueDate: day,
        arrivesOn: day,
      }
    },
    instruct: async (instructions, options) => {
      if (instructions.length === 0) return []
      const { results } = await call<{ readonly results: readonly Order[] }>(
        '/orders',
        { orders: instructions.map(orderOf) },
        options,
      )
      const answered = new Map(results.map((order) => [order.reference, acknowledgementOf(order)]))
      return instructions.map(({ id }) => answered.get(id) ?? 'unknown')
    },
    find: async (keys, options) => {
      if (keys.length === 0) return []
      const { orders } = await call<{ readonly orders: readonly Order[] }>(
        '/orders/search',
        { references: [...new Set(keys.map(({ id }) => id))] },
        options,
      )
      const found = new Map(orders.map((order) => [order.reference, order]))
      return keys.map(({ partnerId, id }) => {
        const order = found.get(id)
        return order?.onBehalfOf === partnerId ? acknowledgementOf(order) : undefined
      })
    },
    notifications: async (notificationsMax, options) => {
      const read = new Map<number, Message>()
      // The bank sends a few at a time. A reading begins with the oldest again, because a message may come late.
      for (let after = 0; read.size < notificationsMax; after = Math.max(...read.keys())) {
        const part = (await messages(after, notificationsMax - read.size, options)).messages
        for (const message of part) read.set(message.number, message)
        if (part.length === 0) break
      }
      return [...read.values()].toSorted((one, other) => one.number - other.number).flatMap(notificationOf)
    },
    acknowledge: async (notifications, options) => {
      if (notifications.length === 0) return
      // Ids that do not belong to this bank are not numbers.
      const numbers = notifications.map(({ id }) => Number(id)).filter(Number.isSafeInteger)
      await call('/messages/confirm', { numbers }, options)
    },
    oldestNotification: async () => {
      const [oldest] = (await messages(0, 1)).messages
      return oldest === undefined ? null : new Date(oldest.madeAt)
    },
  }
}

/** The instruction's id is the bank's reference: by it the bank recognises an order that it already has. */
const orderOf = (instruction: Instruction) => ({
  reference: instruction.id,
  onBehalfOf: instruction.partnerId,
  amount: amountText(instruction.amount, instruction.currency),
  currency: instruction.currency,
  endToEnd: instruction.endToEndId,
  payee: {
    name: instruction.creditorName,
    account: instruction.creditorAccount,
    bank: instruction.creditorBic,
  },
  purpose: instruction.remittance,
})

const reasonOf = (code: string | undefined) => ({ ...(reasons[code ?? ''] ?? otherReason), reasonCode: code ?? null })

function acknowledgementOf({ state, code }: Order): Acknowledgement {
  if (state === 'taken') return { accepted: true }
  if (state === 'declined') return { accepted: false, ...reasonOf(code) }
  throw new Error(`the example bank answered a state that is not in its description: ${state}`)
}

/** Converts a message. A message of another kind stays unconfirmed, so that its age is visible, and does not block others. */
function notificationOf({ event, code, ...message }: Message): readonly BankNotification[] {
  const about = { partnerId: message.onBehalfOf, id: String(message.number), subjectId: message.reference }
  // What the bank has booked. If it is not what was instructed, the service opens a case.
  const money = { currency: message.currency, amount: parseAmount(rawNumber(message.amount), message.currency) }
  if (event === 'paid') return [{ ...about, kind: 'payout.settled', money }]
  if (event === 'failed') return [{ ...about, kind: 'payout.rejected', money, ...reasonOf(code) }]
  if (event === 'sent back') return [{ ...about, kind: 'payout.returned', money, ...reasonOf(code) }]
  return []
}

/** Calls the bank. Throws Unreachable if the answer is missing or broken, so that the outcome is unknown. */
function createCall(url: string) {
  return async <T>(path: string, body: object | undefined, options?: CallOptions): Promise<T> => {
    const signal = options?.signal ?? AbortSignal.timeout(limits.callTimeoutMs)
    try {
      const response = await fetch(new URL(path, url), {
        signal,
        ...(body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text) as T
    } catch (cause) {
      const code = signal.aborted ? 'downstream_timeout' : 'downstream_unreachable'
      throw new Unreachable(code, 'the example bank does not answer', cause)
    }
  }
}
