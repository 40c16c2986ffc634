/** The setting ISO20022_BANKS of a service whose bank is the test bank, as a value. Tests, the demo and the bench change parts of it. */
import { join } from 'node:path'
import { accountsDefault } from './bank.ts'
import { bankBic } from './reports.ts'

export type BankFolders = { readonly toBank: string; readonly fromBank: string }

export const isoBankSetting = (
  transport:
    | ({ readonly kind: 'folder' } & BankFolders)
    | ({ readonly kind: 'sftp' } & BankFolders & Record<string, unknown>),
  folder: string,
) => ({
  initiator: { name: 'Partner Payments' },
  accounts: accountsDefault.map(({ iban, currency, owner }) => ({
    iban,
    bic: bankBic,
    currency,
    ownerName: owner,
    ownerAddress: { town: 'Berlin', country: 'DE' },
  })),
  // At any hour of any day, so that nothing waits for a Monday.
  preferredScheme: 'Instant',
  reach: { Instant: 'all', CreditTransfer: 'all' },
  opensAt: '00:00',
  cutOffAt: '23:59',
  fileWindowMs: 100,
  instantWindowMs: 100,
  unfinishedAfterMs: 2000,
  pollMs: 50,
  archive: join(folder, 'archive'),
  transport,
})
