/** Sends instant payments again as credit transfers, if the bank's refusal concerns only the instant scheme. */
import { partnerKey } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type InstructionKey, openFrom } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import { whyNotReached } from './schemes.ts'
import { byShard } from './shards.ts'
import * as store from './store-instructions.ts'

/** `reasonCode`: the bank's reason. */
export type RefusedInstant = InstructionKey & { readonly reasonCode: string }

/**
 * Returns those that are sent again. The others stay as they are: they were not instant payments, are not at the bank,
 * or no credit transfer reaches their bank. The caller decides which reasons allow it.
 */
export function createRequeue({ clock, rules }: Pick<BankDeps, 'clock' | 'rules'>) {
  return async (tx: Tx, refused: readonly RefusedInstant[]): Promise<readonly InstructionKey[]> => {
    const now = clock.now()
    const times = { dueAt: openFrom(now, rules, 'EUR'), now }
    const again: InstructionKey[] = []
    for (const group of byShard(tx, refused)) {
      const codes = new Map(group.map((each) => [partnerKey(each.partnerId, each.id), each.reasonCode]))
      const instants = await store.lockInstantsAtBank(tx, rules.id, group)
      const rows = instants
        .filter((row) => whyNotReached('CreditTransfer', row, rules) === null)
        .map(({ partnerId, id }) => ({
          partnerId,
          id,
          schemeReason: `refused as an instant payment: ${codes.get(partnerKey(partnerId, id)) ?? ''}`,
        }))
      if (rows.length > 0) await store.requeueAsCreditTransfer(tx, rows, times)
      again.push(...rows)
    }
    return again
  }
}
