/** The sealed answers. */
import type { SealedColumn } from '../postgres/index.ts'
import type { Key } from './store.ts'

/** Binds a sealed answer to its partner, operation and key. */
export const answerContext = ({ partnerId, operation, idempotencyKey }: Key) => [
  'idempotency.keys',
  partnerId,
  operation,
  idempotencyKey,
]

export const sealedAnswers: SealedColumn = {
  table: 'idempotency.keys',
  column: 'answer_sealed',
  key: { operation: 'text', idempotency_key: 'text' },
  contextOf: (partnerId, cell) =>
    answerContext({ partnerId, operation: cell('operation'), idempotencyKey: cell('idempotency_key') }),
}
