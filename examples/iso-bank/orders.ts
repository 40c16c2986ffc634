/** Takes an order of the operator of the test bank. */
import { type Draft, newReference, plan } from './draft.ts'
import { execute } from './execute.ts'
import type { Order } from './model.ts'
import { makeStatements, move, repeatStatements } from './reports.ts'

export type OrderAnswer = { readonly ref: string | null }

/** `read`: the bytes of a file that was kept. */
export function takeOrder(draft: Draft, order: Order, read: (name: string) => string): OrderAnswer {
  const { state, records } = draft
  switch (order.order) {
    case 'payment':
      records.push({ t: 'payment order', order, id: newReference() })
      return { ref: null }
    case 'file':
      if (!isPossible(order)) throw new Error(`${order.kind} has nothing for ${order.fault}`)
      records.push({ t: 'file order', kind: order.kind, fault: order.fault })
      return { ref: null }
    case 'settings':
      records.push({ t: 'settings', settings: order.settings })
      return { ref: null }
    case 'statement':
      makeStatements(draft)
      return { ref: null }
    case 'repeat statement':
      repeatStatements(draft)
      return { ref: null }
    case 'release':
      execute(
        draft,
        [...state.payments.values()].filter(({ status }) => status === 'held'),
      )
      for (const file of state.files.values())
        if (file.how === 'omitted')
          records.push({ t: 'file', file: { ...file, how: 'whole', at: draft.now.toISOString() } })
      return { ref: null }
    case 'resolve lost':
      rejectLost(draft, order.code)
      return { ref: null }
    case 'send again':
      for (const file of state.files.values()) if (file.how === 'kept') sendKept(draft, file.name, read(file.name))
      return { ref: null }
    default:
      return { ref: move(draft, order) }
  }
}

function rejectLost(draft: Draft, code: string): void {
  const lost = [...draft.state.payments.values()].filter(({ status }) => status === 'lost')
  plan(draft, 0, { what: 'reject', payments: lost.map(({ instructionId }) => ({ instructionId, code })) })
}

const isPossible = ({ kind, fault }: Extract<Order, { readonly order: 'file' }>): boolean =>
  fault === 'wrong balance' ? kind === 'camt.053' : fault === 'wrong sum' ? kind.startsWith('camt.05') : true

function sendKept(draft: Draft, name: string, text: string): void {
  const file = draft.state.files.get(name)
  if (file === undefined) return
  const messageId = newReference()
  const sent = `${file.kind}-${messageId}.xml`
  draft.records.push(
    { t: 'sent again', name },
    { t: 'file', file: { name: sent, kind: file.kind, messageId, at: draft.now.toISOString(), how: 'whole' } },
  )
  draft.bytes.set(sent, text.replaceAll(file.messageId, messageId))
}
