/** Shows the files of banks to staff: what came, what went, and what was read from each. */
import { hourMs } from '../../kernel/index.ts'
import type { BankFiles } from '../../rails/index.ts'
import { oldestUndelivered } from './store-instructions.ts'
import * as store from './store-shown.ts'

/** The clocks of two processes that take one file differ by less. */
const clocksDifferMs = hourMs

export const createShownFiles = (connectorIds: readonly string[], operatorId: string): BankFiles => ({
  connectorIds,
  page: (tx, wanted) => store.filesPage(tx, connectorIds, wanted),
  named: store.filesNamed,
  byId: store.fileById,
  oldestUnsent: oldestUndelivered,
  statements: store.statementsOfFile,
  payments: store.paymentsOfFile,
  recalls: store.recallsOfFile,
  entries: (tx, { file, statement }, page) => {
    if (statement.kind === 'camt.053') return store.entriesOfStatement(tx, operatorId, statement.id, page)
    const from = new Date(file.at.getTime() - clocksDifferMs)
    const to =
      file.endedAt === null ? new Date('9999-12-31T00:00:00Z') : new Date(file.endedAt.getTime() + clocksDifferMs)
    const { account, currency } = statement
    return store.entriesAnnounced(
      tx,
      { operatorId, connector: file.connector, account, currency, fileId: file.id, from, to },
      page,
    )
  },
})
