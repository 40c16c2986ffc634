/** Makes the blocks of the simulated chain, under the lock of its first one. */
import { type Clock, newId } from '../../../kernel/index.ts'
import type { Tx } from '../../../postgres/index.ts'
import { hashOf } from '../rules.ts'
import * as store from './store.ts'

export type Blocks = {
  /** The head, under the lock that serialises all changes. A chain without a block gets its first one. */
  readonly lockedHead: (tx: Tx) => Promise<store.SimulatedBlock>
  /** Makes blocks on top of `parent` from waiting transfers, and returns the last one. */
  readonly make: (tx: Tx, parent: store.SimulatedBlock, count: number) => Promise<store.SimulatedBlock>
}

export function createBlocks(clock: Clock): Blocks {
  const makeOne = async (tx: Tx, parent: store.SimulatedBlock): Promise<store.SimulatedBlock> => {
    const number = parent.number + 1n
    const hash = hashOf('simulated block', newId())
    const block = { number, hash, parentHash: parent.hash, madeAt: clock.now() }
    await store.insertBlock(tx, block)
    await store.putIntoBlock(tx, await takeable(tx, number), number)
    return block
  }
  return {
    lockedHead: async (tx) => {
      const hash = hashOf('simulated chain')
      const first = { number: 0n, hash, parentHash: hash, madeAt: clock.now() }
      await store.insertBlock(tx, first)
      await store.lockFirst(tx)
      return (await store.headBlock(tx)) ?? first
    },
    make: async (tx, parent, count) => {
      let last = parent
      for (let made = 0; made < count; made += 1) last = await makeOne(tx, last)
      return last
    },
  }
}

/**
 * The content of the next block: deposits, and from each sender the transactions that follow its last nonce without a
 * gap.
 */
async function takeable(tx: Tx, blockNumber: bigint): Promise<readonly string[]> {
  const hashes: string[] = []
  const nextOf = new Map<string, bigint>()
  for (const { hash, sender, nonce } of await store.waitingTransfers(tx)) {
    const next = nextOf.get(sender) ?? BigInt(await store.minedCount(tx, sender, Number(blockNumber)))
    if (nonce !== null && nonce !== next) continue
    hashes.push(hash)
    if (nonce !== null) nextOf.set(sender, next + 1n)
  }
  return hashes
}
