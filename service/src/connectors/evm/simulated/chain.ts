/**
 * The simulated chain of the sandbox: blocks and token transfers in this database. It takes signed transactions as a node
 * does, so that the connector above it is the one of a real chain. A block is made when one is due and something waits for
 * it: an unused sandbox does not grow.
 */
import { refuseField } from '../../../api/index.ts'
import { after, type Clock, newId } from '../../../kernel/index.ts'
import { type Database, inTransaction } from '../../../postgres/index.ts'
import type { ChainSimulator } from '../../../rails/index.ts'
import type { Chain } from '../quorum.ts'
import { hashOf } from '../rules.ts'
import { createBlocks } from './blocks.ts'
import { createReading } from './reading.ts'
import * as store from './store.ts'

export type SimulatedChain = ChainSimulator & {
  readonly chain: Chain
  /** Makes the next block if it is due and something waits for it. Returns how many blocks it made. */
  readonly makeDueBlock: () => Promise<number>
}

const addressChars = 42

export function createSimulatedChain(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly blockMs: number
  /** Blocks are made until the newest transfer has this depth. */
  readonly confirmations: number
}): SimulatedChain {
  const { db, clock, blockMs, confirmations } = deps
  const blocks = createBlocks(clock)
  return {
    chain: createReading(db, clock, blocks),
    makeDueBlock: () =>
      db.transaction(async (tx) => {
        const head = await blocks.lockedHead(tx)
        if (after(head.madeAt, blockMs) > clock.now()) return 0
        const newest = await store.newestTransferBlock(tx)
        const isDeep = newest === undefined || head.number - newest + 1n >= BigInt(confirmations)
        if (isDeep && (await store.waitingTransfers(tx)).length === 0) return 0
        await blocks.make(tx, head, 1)
        return 1
      }),
    sendTokens: async ({ partnerId, currency, amount, from, to, confirmations: depth }, outerTx) => {
      const hash = hashOf('simulated transfer', newId())
      const sender = (from ?? hashOf('payer', hash).slice(0, addressChars)).toLowerCase()
      const row = { hash, currency, sender, recipient: to, amount, nonce: null, simulatedBy: partnerId }
      await inTransaction(db, outerTx, async (tx) => {
        const head = await blocks.lockedHead(tx)
        await store.insertSimulatedTransfer(tx, { ...row, blockNumber: null, receivedAt: clock.now() })
        await blocks.make(tx, head, depth)
      })
      return hash
    },
    makeBlocks: (count) =>
      db.transaction(async (tx) => Number((await blocks.make(tx, await blocks.lockedHead(tx), count)).number)),
    reorganise: (partnerId, depth) =>
      db.transaction(async (tx) => {
        const head = await blocks.lockedHead(tx)
        const fork = head.number - BigInt(depth)
        const [base] = fork < 0n ? [] : await store.blocksBetween(tx, Number(fork), Number(fork))
        if (base === undefined) throw tooDeep(Number(head.number))
        const vanished = await store.deleteDepositsAbove(tx, fork, partnerId)
        await store.takeFromBlocks(tx, fork)
        await store.deleteBlocksAbove(tx, fork)
        const { number } = await blocks.make(tx, base, depth + 1)
        return { head: Number(number), vanished }
      }),
  }
}

const tooDeep = (blocks: number) =>
  refuseField({
    pointer: '/depth',
    code: 'invalid_value',
    message: `must be at most ${blocks}, the blocks that the simulated chain has; make more of them first`,
  })
