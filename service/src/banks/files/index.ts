/** Connectors to banks by ISO 20022 files, over SFTP or folders (README.md). */
export { createIsoBanks, paymentOutcomes } from './banks.ts'
export { createIsoBooks } from './books.ts'
export type { PayerKey } from './deps.ts'
export { sealedPayers } from './payer.ts'

export { eraseInstructions, keptIsoEntries } from './store-incoming.ts'
