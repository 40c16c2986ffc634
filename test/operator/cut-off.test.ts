/**
 * Tests that a call with an option of another command does nothing, and that a command that removes access states
 * whose, and asks for a yes.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandNames, getDeclaration, commandRoles } from '../../service/src/operator/declarations.ts'
import { loadCommands } from '../../service/src/operator/index.ts'
import { compose } from '../../service/src/app/compose.ts'
import { readConfig } from '../../service/src/app/config.ts'
import { createLog, systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { assertRefusal, run } from '../support/program.ts'
import { joinedStaff } from '../support/staff.ts'

const { service, folder, env } = await useOperator({ now: new Date() })
const partner = await addPartner(service, 100_000n)
const account = { partnerId: partner.partnerId, name: 'Till', permissions: ['payouts:read'] } as const
await service.db.transaction((tx) => service.access.createServiceAccount(tx, account))

/** Reads everything that the calls in this file could have changed. */
const standing = async () => {
  const { partnerId } = partner
  const { access, payoutControls, accounts, db } = service
  return {
    credentials: await access.serviceAccounts(db, partnerId),
    fees: await payoutControls.fees.list(db, partnerId),
    limits: await payoutControls.limits.list(db, partnerId),
    blocked: await accounts.notActive(db, partnerId),
    records: await db.rows(sql`select count(*) from audit.records where partner_id = ${partnerId}`),
  }
}

test('an option of another command is refused with a suggestion and changes nothing', async () => {
  const before_ = await standing()
  const ofPartner = ['--partner', partner.partnerId]
  const money = ['--currency', 'EUR', '--amount', '1.00']
  const calls: readonly (readonly [words: readonly string[], line: RegExp])[] = [
    [
      ['partner', 'expire', ...ofPartner, '--until', '2027-01-01T00:00:00Z'],
      /^operator: --until is not an option of partner expire; did you mean --at\?$/,
    ],
    [
      ['fee', 'set', ...ofPartner, '--currency', 'EUR', '--fixed', '0.20', '--customer', partner.customer.id],
      /^operator: --customer is not an option of fee set; it takes --partner, --currency, --rail, /,
    ],
    [
      ['limit', 'set', ...ofPartner, '--scope', 'partner', '--period', 'day', ...money, '--rail', 'Swift'],
      /^operator: --rail is not an option of limit set; it takes --partner, --scope, /,
    ],
    [
      ['partner', 'rotate', ...ofPartner, '--at', '2027-01-01T00:00:00Z', '--yes'],
      /^operator: --at is not an option of partner rotate; it takes --partner, --overlap-hours, /,
    ],
    [['partner', 'expire', ...ofPartner, '--yes', '--yes'], /^operator: --yes is given twice: give it once$/],
    [
      ['partner', 'expire', ...ofPartner, 'tomorrow', '--yes'],
      /^operator: partner expire takes no argument "tomorrow"/,
    ],
  ]
  for (const [index, [words, line]] of calls.entries()) {
    // The first call runs in its own process.
    assertRefusal(await (index === 0 ? run(['operator', ...words], env) : runOperator(words, env)), line)
  }
  assert.deepEqual(await standing(), before_)
})

test('without --yes a command in a script shows who would lose access and when, and changes nothing', async () => {
  const before_ = await standing()
  const { partnerId } = partner
  const name = await service.access.partnerName(service.db, partnerId)
  const [account] = before_.credentials
  assert.ok(account && name !== '')
  const whom = `${name} (${partnerId})`
  const credential = `${account.name} (${account.serviceAccountId})`
  const ofPartner = ['--partner', partnerId.toUpperCase()]
  const ofAccount = [...ofPartner, '--id', account.serviceAccountId]
  const balance = [...ofPartner, '--currency', 'EUR', '--reason', 'Fraud', '--staff', 'Ada']
  const file = join(folder, 'no-file')
  const calls: readonly (readonly [words: readonly string[], effect: string])[] = [
    [
      ['partner', 'expire', ...ofPartner],
      `ends every credential of ${whom} at once: its requests are then refused with 401`,
    ],
    [
      ['partner', 'expire', ...ofPartner, '--at', '2027-01-01T00:00:00Z'],
      `ends every credential of ${whom} at 2027-01-01T00:00:00Z: its requests are then refused with 401`,
    ],
    [
      ['partner', 'rotate', ...ofPartner],
      `replaces every service account of ${whom}: the present credentials are refused with 401 after 24 hours`,
    ],
    [
      ['partner', 'export', ...ofPartner, '--to', file, '--key-file', file, '--remove'],
      `closes ${whom} and removes it from this cell: its requests are refused until the file is imported elsewhere`,
    ],
    [
      ['service-account', 'rotate', ...ofAccount, '--overlap-hours', '0'],
      `replaces the service account ${credential} of ${whom}: the present credential is refused with 401 at once`,
    ],
    [
      ['service-account', 'expire', ...ofAccount],
      `ends the service account ${credential} of ${whom} at once: its requests are then refused with 401`,
    ],
    [
      ['service-account', 'revoke', ...ofAccount],
      `revokes the service account ${credential} of ${whom} at once: its requests are refused with 401`,
    ],
    [
      ['account', 'block', ...balance, '--direction', 'outbound'],
      `blocks the balance of ${whom} in EUR at once: it pays nothing, and its waiting payouts are cancelled`,
    ],
    [['account', 'close', ...balance], `closes the balance of ${whom} in EUR for ever`],
    [
      ['gate', 'set', ...ofPartner, '--state', 'Incomplete', '--allow', 'Receive'],
      `lets the Incomplete customers of ${whom} do only this, from now on: Receive`,
    ],
    [
      ['gate', 'remove', ...ofPartner, '--state', 'Incomplete'],
      `lets the Incomplete customers of ${whom} do only what KYC_GATES allows, from now on`,
    ],
  ]
  for (const [words, effect] of calls) {
    const command = commandNames.find((each) => words.join(' ').startsWith(`${each} --`))
    const line = `operator: ${command} ${effect}. Nothing was done: to do it, repeat the command with --yes`
    assertRefusal(await runOperator(words, env), line)
  }
  const told = new Set(calls.map(([words]) => `${words[0]} ${words[1]}`))
  const cutting = commandNames.filter((name_) => getDeclaration(name_).cuts)
  assert.deepEqual(
    cutting.filter((each) => !told.has(each)),
    ['staff remove', 'staff end-sessions', 'staff token end'],
  )
  assert.ok(cutting.every((each) => commandRoles(each) !== undefined))
  assert.deepEqual(await standing(), before_)
})

test('at a terminal the person is asked, and only yes runs the command', async () => {
  const revoke = async (answer: boolean) => {
    const [account] = await service.access.serviceAccounts(service.db, partner.partnerId)
    const words = ['service-account', 'expire', '--partner', partner.partnerId, '--id', account?.serviceAccountId ?? '']
    const asked: string[] = []
    const ending = await runOperator(words, env, async (question) => asked.push(question) > 0 && answer)
    return { ...ending, asked }
  }
  const before_ = await standing()
  const no = await revoke(false)
  assert.deepEqual([no.code, no.stderr], [1, 'operator: nothing was done, because the answer was not yes\n'])
  assert.match(
    no.asked.join(),
    /^service-account expire ends the service account .+ at once: .+\.\nType yes to do it: $/,
  )
  assert.deepEqual(await standing(), before_)
  const yes = await revoke(true)
  assert.deepEqual([yes.code, yes.stderr, yes.asked.length], [0, '', 1])
  assert.notDeepEqual((await standing()).credentials, before_.credentials)
  // A gate that allows everything removes no access, and needs no yes.
  const all = ['--state', 'Complete', '--allow', 'OpenAccount,Receive,Pay,Convert']
  const open = await runOperator(['gate', 'set', '--partner', partner.partnerId, ...all], env)
  assert.deepEqual([open.code, open.stderr], [0, ''])
})

test('a command shows the staff member whose sessions it would end, and its audit record omits --yes', async () => {
  const ada = await joinedStaff(service, folder, 'Ada Admin', 'admin')
  const sam = await joinedStaff(service, folder, 'Sam Support', 'support')
  const words = ['staff', 'end-sessions', '--id', sam.signed.account.id, ...ada.as]
  const refused = await runOperator(words, env)
  assert.equal(
    refused.stderr,
    `operator: staff end-sessions ends every session and token of Sam Support (${sam.signed.account.id}) at once. Nothing was done: to do it, repeat the command with --yes\n`,
  )
  assert.equal((await service.staff.sessions(sam.signed.account.id)).length, 1)
  assert.equal((await runOperator([...words, '--yes'], env)).code, 0)
  assert.equal((await service.staff.sessions(sam.signed.account.id)).length, 0)
  const [row] = await service.db.rows<{ record: string }>(
    sql`select content as record from audit.records where content like '%staff end-sessions%'`,
  )
  assert.doesNotMatch(row?.record ?? assert.fail('the record'), /yes|token-file/)
})

test('the desk omits empty fields and refuses options that its command does not take', async () => {
  const grace = await joinedStaff(service, folder, 'Grace Finance', 'finance')
  const config = readConfig({}, env)
  const { db } = service
  const parts = { config, db, clock: systemClock, log: createLog('silent'), mailboxFolder: folder }
  const { createDeskChanges } = await loadCommands()
  const changes = createDeskChanges({ service: compose(parts), db, config, databaseUrl: service.url })
  const fee = { partner: partner.partnerId, currency: 'EUR', fixed: '0.20' }
  await assert.rejects(changes.run(grace.signed.account, 'fee set', { ...fee, customer: 'C' }), {
    code: 'validation_failed',
    detail: /^--customer is not an option of fee set; it takes --partner/,
  })
  await assert.rejects(changes.run(grace.signed.account, 'fee set', { ...fee, fixed: 'much' }), {
    detail: '--fixed must be an amount such as 1000.00, with at most 2 decimal digits (it is "much")',
  })
  assert.deepEqual((await standing()).fees, [])
  await changes.run(grace.signed.account, 'fee set', { ...fee, 'basis-points': '', min: ' ', note: 'Contract' })
  assert.deepEqual(
    (await standing()).fees.map(({ fixedAmount, basisPoints }) => [fixedAmount, basisPoints]),
    [[20n, 0]],
  )
})

test('a pending change with an option that its command no longer takes is not carried out', async () => {
  const two = { ...env, TWO_PERSONS: 'on' }
  const [ada, grace] = [
    await joinedStaff(service, folder, 'Ada F', 'finance'),
    await joinedStaff(service, folder, 'Grace F', 'finance'),
  ]
  const words = ['fee', 'set', '--partner', partner.partnerId, '--currency', 'USD', '--fixed', '1.00', ...ada.as]
  const { waits } = JSON.parse((await runOperator(words, two)).stdout) as { readonly waits: string }
  await service.db.run(
    sql`update staff.changes set options = ${JSON.stringify({ partner: partner.partnerId, currency: 'USD', fixed: '1.00', customer: 'C' })} where id = ${waits}`,
  )
  const { code, stderr } = await runOperator(['change', 'approve', '--id', waits, ...grace.as], two)
  assert.equal(code, 1)
  assert.match(stderr, /^operator: --customer is not an option of fee set; it takes /)
  assert.ok((await standing()).fees.every(({ currency }) => currency !== 'USD'))
})
