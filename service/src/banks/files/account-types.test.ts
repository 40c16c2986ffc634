/** The type of an American account and the address of its owner, on their way from an instruction into the file of the bank. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  atBank,
  createFolders,
  type Folders,
  initiationsOf,
  instructionOf,
  openBank,
  removeFolders,
} from '../../../../test/support/iso-outgoing.ts'
import { hourMs } from '../../kernel/index.ts'

/** A Monday on which TARGET is open. */
const monday = new Date('2026-11-23T09:00:00Z')
let service: Service
let folders: Folders
before(async () => {
  service = await createTestService({ now: monday })
  folders = await createFolders()
})
after(async () => {
  await service.close()
  await removeFolders(folders)
})

test('the type of an American account stands in the file of the bank, and an unknown one does not', async () => {
  const { partnerId } = await addPartner(service)
  const [euros] = openBank(service, folders).deps.rules.accounts
  assert.ok(euros)
  const accounts = [euros, { ...euros, iban: 'DE75512108001245126199', currency: 'USD' as const }]
  const { connector, work } = openBank(service, folders, { preferred: 'CreditTransfer', accounts })
  const dollars = { currency: 'USD', creditorAccount: 'USABA021000021/123456789', creditorBic: 'CHASUS33' } as const
  await connector.instruct([
    instructionOf(partnerId, { ...dollars, creditorAccountType: 'Savings' }),
    instructionOf(partnerId, { ...dollars, creditorAccountType: null }),
    instructionOf(partnerId, dollars),
  ])
  service.clock.advance(hourMs)
  await work()
  const transfers = (await initiationsOf(await atBank(folders))).flatMap(({ batches }) =>
    batches.flatMap((batch) => batch.transfers),
  )
  const types = transfers.map(({ creditorAccountType = 'none' }) => creditorAccountType)
  assert.deepEqual(types.toSorted(), ['SVGS', 'none', 'none'])
})

test('the address of the payee stands in the file, and a payment that lacks it is refused before a file has it', async () => {
  const { partnerId } = await addPartner(service)
  const [euros] = openBank(service, folders).deps.rules.accounts
  assert.ok(euros)
  const accounts = [euros, { ...euros, iban: 'DE75512108001245126199', currency: 'USD' as const }]
  const { connector, work } = openBank(service, folders, { preferred: 'CreditTransfer', accounts })
  const dollars = { currency: 'USD', creditorAccount: 'USABA021000021/777', creditorBic: 'CHASUS33' } as const
  const creditorAddress = { streetName: 'Königsplatz', city: 'New York', state: 'NY', country: 'US' }
  const [refused, sent, unknown] = await connector.instruct([
    instructionOf(partnerId, { ...dollars, creditorAddress: null }),
    instructionOf(partnerId, { ...dollars, creditorAddress }),
    // The operator returns the money of a case: the payer gave no address.
    instructionOf(partnerId, dollars),
  ])
  assert.ok(refused !== 'unknown' && refused?.accepted === false)
  assert.deepEqual([refused.errorKey, refused.reasonCode], ['InvalidAccountDetails', 'BE04'])
  assert.match(refused.details, /address\.city and address\.country from 2026-11-14/)
  assert.ok(sent !== 'unknown' && sent?.accepted && unknown !== 'unknown' && unknown?.accepted)
  service.clock.advance(hourMs)
  await work()
  const found = (await initiationsOf(await atBank(folders)))
    .flatMap(({ batches }) => batches.flatMap(({ transfers }) => transfers))
    .filter(({ creditorAccount }) => 'other' in creditorAccount && creditorAccount.other === '777')
  assert.deepEqual(
    found.map(({ creditor }) => creditor.address).toSorted((a) => (a === undefined ? 1 : -1)),
    [{ street: 'Koenigsplatz', town: 'New York', countrySubdivision: 'NY', country: 'US' }, undefined],
  )
})

test('a payment for an execution day before the rule is taken without an address', async () => {
  const early = await createTestService({ now: new Date('2026-11-12T09:00:00Z') })
  const own = await createFolders()
  try {
    const { partnerId } = await addPartner(early)
    const [euros] = openBank(early, own).deps.rules.accounts
    assert.ok(euros)
    const accounts = [{ ...euros, currency: 'USD' as const }]
    const { connector } = openBank(early, own, { preferred: 'CreditTransfer', accounts })
    const dollars = { currency: 'USD', creditorAccount: 'USABA021000021/777', creditorBic: 'CHASUS33' } as const
    const ask = () => connector.instruct([instructionOf(partnerId, { ...dollars, creditorAddress: null })])
    const [before] = await ask()
    assert.ok(before !== 'unknown' && before?.accepted)
    // On Saturday the execution day is the Monday after the rule begins.
    early.clock.advance(Date.parse('2026-11-14T09:00:00Z') - early.clock.now().getTime())
    const [after] = await ask()
    assert.ok(after !== 'unknown' && after?.accepted === false)
  } finally {
    await early.close()
    await removeFolders(own)
  }
})
