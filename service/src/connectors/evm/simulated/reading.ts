/** The simulated chain as a connector reads it, and where it sends its transactions. */
import { Unreachable } from '../../../api/index.ts'
import type { Clock, Currency } from '../../../kernel/index.ts'
import type { Database } from '../../../postgres/index.ts'
import type { Tokens } from '../../../rails/index.ts'
import { loadEvm } from '../load.ts'
import type { TransferLog } from '../node.ts'
import type { Chain } from '../quorum.ts'
import { hashOf } from '../rules.ts'
import type { Blocks } from './blocks.ts'
import * as store from './store.ts'

/** A chain id that no public chain has, so that a transaction signed for it is valid nowhere else. */
export const simulatedChainId = 900_900_900

const addressChars = 42
/** Stand-ins for the contracts of the tokens. */
const contractOf = (currency: Currency): string => hashOf('simulated token', currency).slice(0, addressChars)
export const simulatedTokens: Tokens = { USDC: contractOf('USDC'), EURC: contractOf('EURC') }

/** Gas costs nothing here, and the sending account never runs short: the numbers only have to be plausible. */
const gasOfTransfer = 65_000n
const gasBalance = 10n ** 30n
const fees = { max: 2_000_000_000n, priority: 1_000_000_000n }
const tokenBalance = 10n ** 18n

/**
 * The first recipient is blocked by the issuer of the tokens; for the other one the contract reverts when the
 * transaction is mined.
 */
const blockedRecipient = '0x000000000000000000000000000000000000b10c'
const failingRecipient = '0x000000000000000000000000000000000000fa11'

export function createReading(db: Database, clock: Clock, { lockedHead }: Blocks): Chain {
  const hashesOf = async (from: number, to: number) =>
    new Map((await store.blocksBetween(db, from, to)).map(({ number, hash }) => [number, hash]))
  return {
    head: async () => {
      const head = (await store.headBlock(db)) ?? (await db.transaction((tx) => lockedHead(tx)))
      return Number(head.number)
    },
    blocks: async (from, to) => {
      const rows = await store.blocksBetween(db, from, to)
      if (rows.length !== to - from + 1)
        throw new Unreachable('downstream_unreachable', 'the simulated chain was reorganised')
      return rows.map(({ number, hash, parentHash }) => ({ number: Number(number), hash, parentHash }))
    },
    transfers: async (from, to) => {
      const hashes = await hashesOf(from, to)
      return (await store.transfersBetween(db, from, to)).flatMap((row, index) => toLog(row, hashes, index))
    },
    transactionCount: (address, block) => store.minedCount(db, address, block),
    receipt: async (hash) => {
      const row = await store.simulatedTransfer(db, hash)
      if (row === undefined || row.blockNumber === null) return undefined
      const blockNumber = Number(row.blockNumber)
      const blockHash = (await hashesOf(blockNumber, blockNumber)).get(row.blockNumber) ?? ''
      return { hash, blockNumber, blockHash, succeeded: row.recipient !== failingRecipient }
    },
    send: (signed) => receive(db, clock, signed),
    tokenBalance: async () => tokenBalance,
    gasBalance: async () => gasBalance,
    fees: async () => fees,
    preview: async ({ recipient }) =>
      recipient === blockedRecipient ? { reason: 'execution reverted: account is blocked' } : { gas: gasOfTransfer },
  }
}

function toLog(
  { blockNumber, hash, currency, sender, recipient, amount }: store.SimulatedTransfer,
  hashes: ReadonlyMap<bigint, string>,
  index: number,
): readonly TransferLog[] {
  if (blockNumber === null || recipient === failingRecipient) return []
  const place = { blockNumber: Number(blockNumber), blockHash: hashes.get(blockNumber) ?? '', index }
  return [{ currency, from: sender, to: recipient, amount, transactionHash: hash, ...place }]
}

/** Takes a signed transaction as a node does: for this chain, and a transfer of a known token. */
async function receive(db: Database, clock: Clock, signed: string): Promise<void> {
  const evm = await loadEvm()
  const { chainId, contract, data, nonce, sender, hash } = await evm.readTransaction(signed)
  const [currency] = (Object.keys(simulatedTokens) as Currency[]).filter((name) => simulatedTokens[name] === contract)
  const [, recipient, amount] = /^0xa9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})$/.exec(data) ?? []
  if (chainId !== simulatedChainId || currency === undefined || recipient === undefined || amount === undefined)
    throw new Unreachable('downstream_unreachable', 'the simulated chain refuses the transaction')
  await store.insertSimulatedTransfer(db, {
    hash,
    currency,
    sender,
    recipient: `0x${recipient}`,
    amount: BigInt(`0x${amount}`),
    nonce: BigInt(nonce),
    simulatedBy: null,
    blockNumber: null,
    receivedAt: clock.now(),
  })
}
