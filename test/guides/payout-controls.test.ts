/** Runs the commands and the code of the guide on payout controls unchanged. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/payout-controls.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the commands and the code of the guide run: preview, limit, fee, approval', async (service) => {
  const approverFile = join(service.dataDir, 'approver.json')
  const commands = programOf(guide, 'sh', 1).trimEnd().split('\n')
  assert.equal(commands.length, 4)
  for (const command of commands) {
    const [words = '', file] = command.replace(/^(?:\(umask 077; )?npm run -s operator -- /, '').split(' > ')
    const printed = await service.operator(...words.replace('$PARTNER', service.credentials.partnerId).split(' '))
    if (file !== undefined) await writeFile(approverFile, JSON.stringify(printed))
  }
  const runs = await runTypeScript(service, programOf(guide, 'ts', 4), { PARTNER_PAYMENTS_APPROVER: approverFile })
  assertLine(runs, /^accepted: true, fee 0\.70, total 500\.70 by SepaCreditTransfer$/)
  assertLine(runs, /^ {2}limit\.beneficiary\.day: passed$/)
  assertLine(runs, /^ {2}approval: notApplicable$/)
  assertLine(runs, /^limit\.beneficiary\.day: The limit beneficiary\.day is 2000\.00 EUR\. 2000\.00 EUR is left until /)
  assertLine(runs, /^Pending, fee 0\.70$/)
  assertLine(runs, /^422 limit_exceeded$/)
  assertLine(runs, /^PendingApproval: 1200\.00 EUR for Grace Hopper$/)
  assertLine(runs, /^403 approver_is_creator$/)
  assertLine(runs, /^approved: true$/)
  assertLine(runs, /^Approved by \S/)
  assertLine(runs, /^timeline: Created, Reserved, Approval$/)
})
