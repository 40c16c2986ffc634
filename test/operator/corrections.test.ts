/** Tests commands that move money by the decision of people. Each needs two signed-in people, even in a sandbox. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { commandNames, getDeclaration } from '../../service/src/operator/declarations.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { lastDayOnStatement } from '../../service/src/rails/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, balanceOf, createTestService, pay } from '../support/composition.ts'
import { untilEnd, useOperator } from '../support/fixture.ts'
import {
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  ownIban,
  reportXml,
} from '../support/iso-incoming.ts'
import { bankSetting, openFolders } from '../support/iso-outgoing.ts'
import { runOperator } from '../support/operator.ts'
import { joinedStaff } from '../support/staff.ts'

const { service, folder, env, printed } = await useOperator({ now: new Date(), chooseConnector: () => 'iso20022' })
let [one, two]: readonly (readonly string[])[] = []
const folders = untilEnd(await createBankFolders())
const bank = createIncomingBank(service, folders)
/** A partner with a customer that has an account. */
async function addPayee() {
  const { partnerId, customer } = await addPartner(service)
  const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
  return { partnerId, creditorAccount: { iban } }
}
/** Creates a payout that the bank has received in a file. */
async function payInFile() {
  const partner = await addPartner(service, 1_000_00n)
  const { payout } = await pay(service, partner, '10.00')
  await submitDuePayouts(bank.settlement)
  const about = ['--partner', partner.partnerId, '--payout', payout.id]
  return { partnerId: partner.partnerId, payout, about }
}
/** Runs a command that one person proposes and another approves. */
async function byTwo(...words: readonly string[]) {
  const id = String((await printed(...words, ...(one ?? [])))['waits'])
  return printed('change', 'approve', '--id', id, ...(two ?? []))
}

test('commands that move money need a signed-in person, even in a sandbox without staff', async () => {
  const always = commandNames.filter((name) => getDeclaration(name).second === 'always')
  assert.equal(always.length, 9)
  const validValues: Readonly<Record<string, string>> = { id: newId(), currency: 'EUR' }
  for (const command of always) {
    // Each required option has any value, because no command gets as far as using it.
    const options = Object.entries(getDeclaration(command).options).flatMap(([name, { kind, optional, choices }]) =>
      optional || name === 'staff' ? [] : [`--${name}`, validValues[kind] ?? choices?.[0] ?? 'x'],
    )
    const { code, stderr } = await runOperator([...command.split(' '), ...options, '--staff', 'Sam'], env)
    assert.equal(code, 1)
    assert.match(stderr, /^operator: sign in first/)
  }
  one = (await joinedStaff(service, folder, 'Ada Finance', 'finance')).as
  two = (await joinedStaff(service, folder, 'Grace Finance', 'finance')).as
})

test('a stuck payout ends with a letter from the bank, whose hash is in the audit log', async () => {
  const { partnerId, payout, about } = await payInFile()
  const letter = join(folder, 'letter.pdf')
  await writeFile(letter, 'We will not execute it.')
  const end = ['payment', 'end', ...about, '--outcome', 'not-paid']
  const rest = ['--evidence', letter, '--note', 'Letter of the bank']
  const early = await runOperator([...end, ...rest, ...(one ?? [])], env)
  assert.match(early.stderr, /The payment is Queued/)
  await markFiled(service)
  const lacking = await runOperator([...end, '--note', 'Without a letter', ...(one ?? [])], env)
  assert.equal(lacking.stderr, 'operator: --evidence is required\n')
  const ended = await byTwo(...end, ...rest)
  const evidence = `letter.pdf sha256:${hash('sha256', 'We will not execute it.')}`
  assert.deepEqual(ended, { partnerId, payoutId: payout.id, outcome: 'not-paid', evidence })
  await bank.work()
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Failed')
  const { data } = await service.audit.list(partnerId, {})
  const { actor, details, reason } = data.find(({ action }) => action === 'operator payment end') ?? {}
  assert.deepEqual(
    [actor?.name, details?.['approvedBy'], details?.['evidence'], reason],
    [...['Ada Finance', 'Grace Finance', evidence, 'Letter of the bank']],
  )
})

test('a letter recalls a payment at a bank without recall files: written, sent and answered, with a record each', async () => {
  const { partnerId, about } = await payInFile()
  await markFiled(service)
  const [person] = [one ?? []]
  await printed('bank', 'recall', ...about, '--reason', 'DUPL', ...person)
  // The worker of a bank that needs letters has reported the recall.
  await service.db.run(
    sql`update rails.iso_recalls set told_at = ${service.clock.now()} where partner_id = ${partnerId}`,
  )
  const file = join(folder, 'letter-to-the-bank.pdf')
  const early = await runOperator(['bank', 'recall', 'answer', ...about, '--outcome', 'refused', ...person], env)
  assert.match(early.stderr, /The recall is Queued/)
  const setting = bankSetting(await openFolders(folder), { iban: ownIban, bic: 'BYLADEM1001', recalls: 'letter' })
  const settings = { ...env, RAIL: 'iso20022', ISO20022_BANKS: JSON.stringify([setting]) }
  const write = () => runOperator(['bank', 'recall', 'letter', ...about, '--to', file], settings)
  const written = await write()
  assert.deepEqual([written.code, written.stderr], [0, ''])
  assert.equal((await readFile(file)).subarray(0, 5).toString(), '%PDF-')
  assert.match((await write()).stderr, /^operator: --to .*EEXIST/)
  await printed('bank', 'recall', 'sent', ...about, '--note', 'By post', ...person)
  await printed('bank', 'recall', 'answer', ...about, '--outcome', 'refused', '--reason', 'NOAS', ...person)
  const shown = await printed('bank', 'payment', ...about)
  const { status, answerCode } = shown['recall'] as Record<string, unknown>
  assert.deepEqual([status, answerCode], ['Refused', 'NOAS'])
  const actions = (await service.audit.list(partnerId, {})).data.map(({ action }) => action)
  for (const action of ['bank recall', 'bank recall sent', 'bank recall answer'])
    assert.ok(actions.includes(`operator ${action}`), action)
})

test('a quarantined file is released, and its case is closed', async () => {
  const { partnerId, creditorAccount } = await addPayee()
  const entry = entryOf(5n, {
    details: [{ references: { endToEndId: 'E1' }, creditorAccount, debtor: { name: 'Ada' } }],
  })
  await folders.put('a.xml', reportXml([entry], { kind: 'camt.053', opening: 0n, closing: 6n }))
  await bank.work()
  const found = (await service.cases.list(undefined, 100)).find(({ kind }) => kind === 'sum_differs')
  assert.ok(found)
  const released = await byTwo('bank', 'file', 'take', '--id', found.id, '--note', 'The bank confirms the entry')
  assert.equal(released['fileName'], 'a.xml')
  await bank.work()
  assert.equal((await balanceOf(service, partnerId)).posted, 5n)
  const closed = await service.cases.byId(service.db, operatorPartnerId, found.id)
  assert.deepEqual(
    [closed?.resolution, closed?.resolvedBy, closed?.note],
    ['gone', 'Ada Finance', 'The bank confirms the entry'],
  )
  const { stderr } = await runOperator(
    ['bank', 'file', 'take', '--id', found.id, '--note', 'Again', ...(one ?? [])],
    env,
  )
  assert.match(stderr, /has already been released|has already been decided/)
})

test('a credit to the wrong customer is reversed, with a case for its owner', async () => {
  const { partnerId, creditorAccount } = await addPayee()
  const entry = entryOf(8n, {
    details: [{ references: { endToEndId: 'E2' }, creditorAccount, debtor: { name: 'Ada' } }],
  })
  await folders.put('b.xml', reportXml([entry]))
  await bank.work()
  const { data } = await service.transactions.list(partnerId, { category: 'Deposit' })
  const reference = data[0]?.row.reference ?? ''
  const undo = ['deposit', 'undo', '--partner', partnerId, '--reference', reference]
  const undone = await byTwo(...undo, '--note', 'Other John')
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  const opened = await service.cases.byId(service.db, partnerId, String(undone['id']))
  assert.deepEqual([opened?.booked, opened?.kind], [8n, 'unknown_payment'])
})

test('a credit that a corrected statement omits is cancelled by two people, and its case is closed', async () => {
  const { partnerId, creditorAccount } = await addPayee()
  // At a weekend no entry is missing yet: banks book entries of a weekend on the next business day.
  const today = lastDayOnStatement(service.clock.now().toISOString().slice(0, 10), { closedDays: new Set() }, 'EUR')
  const details = [{ references: { endToEndId: 'E9' }, creditorAccount, debtor: { name: 'Ada' } }]
  const entry = entryOf(5n, { bookingDate: today, details })
  const statement = { kind: 'camt.053', statementId: 'C1', on: today, opening: 6n } as const
  await folders.put('c1.xml', reportXml([entry], { ...statement, closing: 11n }))
  await bank.work()
  assert.equal((await balanceOf(service, partnerId)).posted, 5n)
  await folders.put('c2.xml', reportXml([], { ...statement, closing: 6n }))
  await bank.work()
  const found = (await service.cases.list(undefined, 100)).find(({ report }) => report.includes('of 0.05 EUR'))
  assert.equal(found?.kind, 'announced_missing')
  const cancel = ['bank', 'entry', 'cancel', '--id', found.id, '--note', 'The bank has booked it by mistake'] as const
  const cancelled = await byTwo(...cancel)
  assert.deepEqual([cancelled['amount'], cancelled['currency']], ['0.05', 'EUR'])
  await bank.work()
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  assert.equal((await service.cases.byId(service.db, operatorPartnerId, found.id))?.resolution, 'gone')
  const { stderr } = await runOperator([...cancel, ...(one ?? [])], env)
  assert.match(stderr, /can be cancelled|has already been decided/)
})

test('a debit is detached from its matched payment, and its case names the payment', async () => {
  const { partnerId, payout, about } = await payInFile()
  await markFiled(service)
  const references = { instructionId: payout.endToEndId, endToEndId: payout.endToEndId }
  await folders.put('d.xml', reportXml([entryOf(-10_00n, { details: [{ references }] })]))
  await bank.work()
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Completed')
  const undo = ['payment', 'undo', ...about, '--note', 'The bank: not this one']
  const { id, ...undone } = await byTwo(...undo)
  assert.deepEqual(undone, { partnerId, payoutId: payout.id, amount: '10.00', currency: 'EUR' })
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Returned')
  const opened = await service.cases.byId(service.db, operatorPartnerId, String(id))
  assert.deepEqual([opened?.booked, opened?.kind], [-10_00n, 'unknown_debit'])
  assert.match(opened?.report ?? '', new RegExp(payout.reference))
  const { stderr } = await runOperator([...undo, ...(one ?? [])], env)
  assert.match(stderr, /The payout is Returned/)
})

test('a payout of a bank without files also ends with a letter, and opens a case if the bank pays it later', async () => {
  const sandbox = await createTestService({ url: service.url, now: new Date() })
  try {
    const partner = await addPartner(sandbox, 1_000_00n)
    const { partnerId } = partner
    const { payout } = await pay(sandbox, partner, '10.00')
    const word = ['--evidence', join(folder, 'letter.pdf'), '--note', 'Letter of the bank']
    const end = (outcome: string) => [
      ...['payment', 'end', '--partner', partnerId, '--payout', payout.id, '--outcome', outcome],
      ...word,
    ]
    const early = await runOperator([...end('not-paid'), ...(one ?? [])], env)
    assert.match(early.stderr, /The payout is Pending/)
    await submitDuePayouts(sandbox.settlement)
    await byTwo(...end('not-paid'))
    assert.equal((await sandbox.payouts.get(partnerId, payout.id)).status, 'Failed')
    assert.deepEqual(await balanceOf(sandbox, partnerId), { posted: 1_000_00n, reserved: 0n, available: 1_000_00n })
    const again = await runOperator([...end('paid'), ...(one ?? [])], env)
    assert.match(again.stderr, /The payout is Failed/)
    sandbox.clock.advance(60_000)
    while ((await processBankNotifications(sandbox.settlement)) > 0);
    const opened = (await sandbox.cases.list(undefined, 1000)).find((found) => found.partnerId === partnerId)
    assert.equal(opened?.kind, 'contradiction')
    assert.equal((await sandbox.payouts.get(partnerId, payout.id)).status, 'Failed')
  } finally {
    await sandbox.close()
  }
})
