/** The type of an American account on its way from an instruction into the file of the bank, on a real database and real folders. */
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
