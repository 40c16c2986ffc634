/**
 * SIGKILL of the worker at each boundary of a commit and of a call that hands a signed transaction to a node; a new worker
 * continues. The chain has each payment once, nonces have no gaps, and the ledger is what the chain holds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hourMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { createChainScene } from '../support/chain/scene.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { untilEnd } from '../support/fixture.ts'

/** Fewer points mean that the worker did not run, or that its commits are not counted. */
const pointsMin = 15
const payer = `0x${'77'.repeat(20)}`

const scene = untilEnd(await createChainScene())
await scene.begin()
await scene.anvil.fund(payer, 10n ** 14n)
await scene.anvil.mine()

let recipients = 0
const newRecipient = () => `0x${(0xfeed_0000 + (recipients += 1)).toString(16).padStart(40, '0')}`

test('a worker killed around a commit or a broadcast makes each payment exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'chain', pointsMin }, async (runWorker) => {
    const partner = await scene.addPartner()
    const { address } = await scene.addWallet(partner)
    await scene.anvil.transfer(payer, address, 10_000_000000n)
    await scene.mine()
    const [paid, failing] = [newRecipient(), newRecipient()]
    const settled = await scene.payToken(partner, paid, '10')
    const reverted = await scene.payToken(partner, failing, '4001.01')
    // Credited by the child, or by the worker after it.
    await scene.anvil.transfer(payer, address, 1_000000n)
    await runWorker(scene.service, { partnerId: partner.partnerId, nodeUrl: scene.anvil.url })
    for (let round = 0; round < 3; round += 1) {
      scene.service.clock.advance(hourMs)
      await scene.mine()
    }
    assert.equal((await scene.payoutOf(partner, settled.id)).status, 'Completed')
    assert.equal((await scene.payoutOf(partner, reverted.id)).status, 'Failed')
    assert.deepEqual([await scene.anvil.balance(paid), await scene.anvil.balance(failing)], [10_000000n, 0n])
    assert.equal((await scene.balance(partner)).posted, 9_991_000000n)
    assert.deepEqual(await scene.casesOf(), [])
    await scene.checkLedger([partner])
    const rows = await scene.service.db.rows<{ nonce: bigint }>(
      sql`select nonce from rails.chain_nonces order by nonce`,
    )
    assert.deepEqual(
      rows.map(({ nonce }) => Number(nonce)),
      rows.map((_row, index) => index),
    )
  })
})
