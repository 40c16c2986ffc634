/**
 * Random deposits, payouts, blocks and reorganisations, by snapshot and revert of a real chain. When the chain has settled, the
 * ledger is what the chain holds. `npm run test:faults -- chain-reorg` makes 100 of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { chainConnectorId, confirmations, createChainScene } from '../support/chain/scene.ts'
import type { TestPartner } from '../support/composition.ts'
import { printCounts, scaled } from '../support/faults.ts'
import { untilEnd } from '../support/fixture.ts'
import { createRandom } from '../support/random.ts'

const seed = 20_261_123
const reorganisations = scaled(12, 100)
const depthMax = 7
const payer = `0x${'77'.repeat(20)}`

const scene = untilEnd(await createChainScene())
await scene.begin()
await scene.anvil.fund(payer, 10n ** 13n)

type Place = { readonly partner: TestPartner; readonly address: string }

async function createWorld() {
  const places: Place[] = []
  for (let count = 0; count < 3; count += 1) {
    const partner = await scene.addPartner()
    const { address } = await scene.addWallet(partner)
    await scene.anvil.transfer(payer, address, 1000_000000n)
    places.push({ partner, address })
  }
  await scene.mine()
  return places
}

/** Every transfer has an end, and what the chain says is done. */
async function settle(): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    scene.service.clock.advance(minuteMs)
    await scene.mine(2 * confirmations)
  }
}

test(`after ${reorganisations} random reorganisations the ledger matches the chain`, async (t) => {
  const { number: random } = createRandom(seed)
  const places = await createWorld()
  const counts = { deposits: 0, payouts: 0, 'deep ones': 0, 'credits taken back': 0 }
  const act = async () => {
    const { partner, address } = places[random(places.length)] as Place
    const dice = random(10)
    if (dice < 5) {
      await scene.anvil.transfer(payer, address, BigInt(1 + random(5_000000)))
      counts.deposits += 1
    } else if (dice < 7) {
      const recipient = `0x${(0xabc000 + random(5)).toString(16).padStart(40, '0')}`
      await scene.payToken(partner, recipient, `0.${String(1 + random(999999)).padStart(6, '0')}`)
      counts.payouts += 1
    }
    if (random(2) === 0) await scene.pump()
    if (dice >= 4) await scene.mine(1 + random(2))
  }
  for (let done = 0; done < reorganisations; done += 1) {
    const snapshot = await scene.anvil.rpc('evm_snapshot')
    const from = await scene.anvil.head()
    const actions = 1 + random(5)
    for (let count = 0; count < actions; count += 1) await act()
    const depth = (await scene.anvil.head()) - from
    if (depth > confirmations) counts['deep ones'] += 1
    await scene.anvil.rpc('evm_revert', snapshot)
    scene.service.clock.advance(minuteMs)
    // The other branch: blocks of its own, sometimes with transfers, and longer than what it replaces.
    if (random(2) === 0) await act()
    await scene.mine(Math.max(1, depth + 1 - ((await scene.anvil.head()) - from)) + random(depthMax))
  }
  await settle()
  const back = await scene.service.db.row<{ count: bigint }>(sql`
    select count(*) as count from cases.cases where kind = 'credit_reversed' and connector = ${chainConnectorId}`)
  counts['credits taken back'] = Number(back?.count ?? 0n)
  await scene.checkLedger(places.map(({ partner }) => partner))
  const open = await scene.service.db.rows(sql`select id from rails.chain_transfers where status = 'Pending'`)
  assert.deepEqual(open, [], 'every transfer has an end')
  assert.ok(counts['deep ones'] > 0 && counts['credits taken back'] > 0, JSON.stringify(counts))
  printCounts(t, { seed, reorganisations, ...counts })
})
