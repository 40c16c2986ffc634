/** Parallel submits from one sending account, on a real database and the simulated chain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { type Currency, createLog, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Instruction } from '../../rails/index.ts'
import { createChainConnector } from './connector.ts'
import { createSimulatedChain, simulatedChainId, simulatedTokens } from './chains.ts'
import { simulatedHash } from './rules.ts'

const service = await useModules()
const { clock, db, chainKeys, sealer } = service
const confirmations = 2
const simulated = createSimulatedChain({ db, clock, blockMs: 1000, confirmations })
const { partnerId } = await addPartner(service)
const options = { signal: new AbortController().signal }

/** A worker of a chain whose sending account has `balance`. `beforeBalance` stands before the answer of the node. */
const worker = (id: string, balance: bigint, beforeBalance: () => Promise<void> = async () => undefined) =>
  createChainConnector({
    ...{ db, clock, sealer, log: createLog('silent'), signer: chainKeys.signer },
    ...{ ownersOf: async () => new Map(), operatorId: partnerId, denied: new Set<string>() },
    partiesOf: async () => ({ originator: { name: 'Test Partner' }, beneficiary: {} }),
    chain: {
      ...simulated.chain,
      tokenBalance: async () => {
        await beforeBalance()
        return balance
      },
    },
    rules: {
      ...{ id, chainId: simulatedChainId, network: 'test', tokens: simulatedTokens, confirmations },
      ...{ feeMax: 10n ** 12n, stuckAfterMs: 60_000, depositMin: {} },
    },
  })

function instruction(amount: bigint, currency: Currency = 'USDC'): Instruction {
  const id = newId()
  const creditor = { creditorName: 'Grace Hopper', creditorAccount: simulatedHash('recipient', id).slice(0, 42) }
  const nothing = { creditorBic: null, remittance: null, simulatedOutcome: null }
  return { partnerId, id, endToEndId: id.replaceAll('-', ''), amount, currency, ...creditor, ...nothing }
}

const openOf = (connector: string) =>
  db.rows<{ amount: bigint; nonce: bigint }>(sql`
    select amount, nonce from rails.chain_transfers where connector = ${connector} and status = 'Pending' order by nonce`)

/** All callers wait until `count` of them have come. */
function meeting(count: number): () => Promise<void> {
  const met = Promise.withResolvers<void>()
  let left = count
  return async () => {
    left -= 1
    if (left <= 0) met.resolve()
    await met.promise
  }
}

test('parallel submits take no more tokens than the sending account has, and the rest waits', async () => {
  const together = meeting(4)
  const [first, second] = [worker('race', 100n, together), worker('race', 100n, together)]
  const outcomes = await Promise.all(
    [first, second, first, second].map((connector) => connector.instruct([instruction(40n)], options)),
  )
  const taken = outcomes.flat().map((outcome) => (outcome === 'unknown' ? 'waits' : outcome.accepted))
  assert.deepEqual(taken.toSorted(), [true, true, 'waits', 'waits'])
  const open = await openOf('race')
  assert.deepEqual(
    open.map(({ amount }) => amount),
    [40n, 40n],
  )
  assert.equal((open[1]?.nonce ?? 0n) - (open[0]?.nonce ?? 0n), 1n, 'nonces have no gaps')
  // Smaller ones of one call fit, up to the balance, and other tokens are counted apart.
  const [tooLarge, fitting, others] = [instruction(21n), instruction(20n), instruction(100n, 'EURC')]
  const answers = await worker('race', 100n).instruct([tooLarge, fitting, others], options)
  assert.deepEqual(answers, ['unknown', { accepted: true }, { accepted: true }])
})

test('a transfer that ends after the balance was read still counts', async () => {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  assert.deepEqual(await worker('ends', 100n).instruct([instruction(80n)], options), [{ accepted: true }])
  const late = worker('ends', 100n, async () => {
    reach()
    await ended
  })
  const asked = late.instruct([instruction(40n)], options)
  await reached
  await db.run(sql`
    update rails.chain_transfers set status = 'Settled', reported = 'Settled', mined_block = 1
    where partner_id = ${partnerId} and connector = 'ends'`)
  end()
  assert.deepEqual(await asked, ['unknown'])
})
