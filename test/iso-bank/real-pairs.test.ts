/**
 * Files of real banks about one account, through the connector: announcements and statements, in both orders. The files are not in the
 * repository: SAMPLES_DIR names their folder.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { samplesFolder } from '../support/samples.ts'
import { createTestService } from '../support/composition.ts'
import { createBankFolders, createIncomingBank, rulesOf } from '../support/iso-incoming.ts'

const folder = join(samplesFolder ?? '', 'iso20022', 'files')
const skip =
  samplesFolder === undefined || !existsSync(folder) ? 'SAMPLES_DIR does not name the files of real banks' : false

type File = { readonly name: string; readonly text: string; readonly iban: string; readonly kind: string }

/** Lists each file once with the account of its first statement. Francs become euros: the service does not support francs. */
function read(): readonly File[] {
  return readdirSync(folder).flatMap((name): readonly File[] => {
    const bytes = readFileSync(join(folder, name), 'latin1')
    const kind = /camt\.05[234]/.exec(bytes.slice(0, 2000))?.[0]
    const iban = /<Acct>\s*<Id>\s*<IBAN>([A-Z0-9]+)</.exec(bytes)?.[1]
    return kind === undefined || iban === undefined ? [] : [{ name, text: bytes.replaceAll('CHF', 'EUR'), iban, kind }]
  })
}

/** Accounts with an announcement and a statement of the bank. */
const accounts = skip === false ? [...Map.groupBy(read(), ({ iban }) => iban)] : []
const pairs = accounts.filter(([, files]) => new Set(files.map(({ kind }) => kind === 'camt.053')).size === 2)

async function take(iban: string, files: readonly File[]) {
  const service = await createTestService({ chooseConnector: () => 'iso20022' })
  const folders = await createBankFolders()
  try {
    const accounts = rulesOf('').accounts.map((account) => ({ ...account, iban }))
    const bank = createIncomingBank(service, folders, { accounts })
    for (const { name, text } of files) {
      await folders.put(name, Buffer.from(text, 'latin1'))
      await bank.work()
    }
    const rows = await service.db.rows<{
      count: bigint
      amount: bigint
      both: bigint
      doubts: bigint
      aside: bigint
    }>(sql`
      select count(*) as count, coalesce(sum(amount), 0)::bigint as amount,
        count(*) filter (where announced > 0 and statement_id is not null) as both,
        count(*) filter (where kind = 'unknown' and subject_id is not null) as doubts,
        (select count(*) from rails.iso_messages where state = 'Aside') as aside
      from rails.iso_entries`)
    return rows[0]
  } finally {
    await service.close()
    await folders.remove()
  }
}

test('real notifications and statements of one account give the same bookings in either order', { skip }, async (t) => {
  assert.ok(pairs.length > 0)
  for (const [iban, files] of pairs) {
    const isStatement = ({ kind }: File) => Number(kind === 'camt.053')
    const first = await take(
      iban,
      files.toSorted((a, b) => isStatement(a) - isStatement(b)),
    )
    const last = await take(
      iban,
      files.toSorted((a, b) => isStatement(b) - isStatement(a)),
    )
    t.diagnostic(
      `${iban}: ${files.length} files, ${first?.aside} aside; ${first?.count} entries, ${first?.both} of them announced and listed, ${first?.doubts} doubts; the other order ${last?.count}, ${last?.both}, ${last?.doubts}`,
    )
    assert.deepEqual(
      { count: last?.count, amount: last?.amount, both: last?.both },
      { count: first?.count, amount: first?.amount, both: first?.both },
    )
  }
})
