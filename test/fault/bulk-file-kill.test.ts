/**
 * SIGKILL of a process before and after each commit while it sends a file of payouts with new payees. The person sends it again: each payee and
 * each payout is made once, in one bulk.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { openBulkFiles } from '../support/bulk-files.ts'
import { addPartner, balanceOf } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'

/** Each has two lines. */
const payees = 6
const ibanOf = (account: number): string => {
  const bban = `37040044${String(account).padStart(10, '0')}`
  return `DE${String(98n - (BigInt(`${bban}131400`) % 97n)).padStart(2, '0')}${bban}`
}

const service = await useModules()

test('after a kill between the payees and the bulk of a file, each payee and payout is created exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'bulk file', pointsMin: 2 * payees + 4 }, async (runWorker) => {
    const { partnerId, caller } = await addPartner(service, 1_000_00n)
    const files = await openBulkFiles(service, caller)
    const none = { payee: '', sortCode: '', routingNumber: '', accountNumber: '' }
    const lines = Array.from({ length: 2 * payees }, (_, at) => {
      const account = at % payees
      const paid = { name: `New payee ${account}`, iban: ibanOf(account + 1), amount: '1.00', currency: 'EUR' }
      return { line: at + 2, cells: { ...none, ...paid, reference: `INV-${at}` } }
    })
    const id = await files.keep({ mode: 'AllOrNothing', lines })
    await runWorker(service, { caller, id })
    // The lease of the dead process ends.
    service.clock.advance(4 * minuteMs)
    const { leadsTo, page } = await files.send(id)
    assert.match(leadsTo ?? page, /^\.\.\/(?:\.\.\/)?[0-9a-f-]{36}/)
    while ((await service.bulkPayouts.step()) > 0);
    const { data: bulks } = await service.bulkPayouts.list(partnerId, {})
    assert.deepEqual(
      bulks.map(({ status, accepted, refused }) => [status, accepted, refused]),
      [['Completed', lines.length, 0]],
    )
    assert.equal((await balanceOf(service, partnerId)).reserved, BigInt(lines.length * 100))
    const made = (await service.beneficiaries.list(partnerId, { limit: '100' })).data
    const names = made.map(({ name }) => name).filter((name) => name.startsWith('New payee'))
    assert.deepEqual(
      names.toSorted(),
      Array.from({ length: payees }, (_, at) => `New payee ${at}`),
    )
    // A second send of what was sent leads to its bulk.
    assert.match((await files.send(id)).leadsTo ?? '', new RegExp(bulks[0]?.id ?? 'none'))
  })
})
