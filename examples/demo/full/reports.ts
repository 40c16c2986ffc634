/** Reports of the day: every kind in every form, checked against the balance, twice with the same bytes. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Check } from '../reconcile.ts'
import type { Stage } from './stage.ts'

const forms = {
  statement: ['csv', 'jsonl', 'pdf', 'camt.053'],
  transactions: ['csv', 'jsonl'],
  fees: ['csv', 'jsonl', 'pdf'],
  reconciliation: ['csv', 'jsonl'],
} as const
type Kind = keyof typeof forms

export async function reports({ client, print, until, dataDir }: Stage): Promise<readonly Check[]> {
  const folder = join(dataDir, 'reports')
  await mkdir(folder, { recursive: true })
  const to = new Date().toISOString()
  const period = { from: new Date(Date.parse(to) - 86_400_000).toISOString(), to }
  const write = async (kind: Kind, format: (typeof forms)['statement'][number]) => {
    const currency = kind === 'statement' ? { currency: 'EUR' } : {}
    const { id } = await client.reports.create({ kind, format, ...currency, ...period })
    const report = await until(`the ${kind} is ready`, async () => {
      const found = await client.reports.get(id)
      if (found.status === 'Failed') throw new Error(found.failure)
      return found.status === 'Ready' && found
    })
    const bytes = Buffer.concat(await Array.fromAsync(await client.reports.getContent(id)))
    const hash = createHash('sha256').update(bytes).digest('hex')
    return { bytes, hash, promised: report.sha256, rows: report.rows ?? 0 }
  }
  const differences: string[] = []
  let files = 0
  let statement = ''
  let reconciliation = ''
  for (const [kind, formats] of Object.entries(forms) as [Kind, (typeof forms)[Kind]][])
    for (const format of formats) {
      const [one, two] = [await write(kind, format), await write(kind, format)]
      if (one.hash !== one.promised) differences.push(`${kind} ${format}: the content has another hash`)
      if (one.hash !== two.hash) differences.push(`${kind} ${format}: the second has other bytes`)
      if (format === 'csv' && kind === 'statement') statement = one.bytes.toString()
      if (format === 'csv' && kind === 'reconciliation') reconciliation = one.bytes.toString()
      const name = `${kind}.${format === 'camt.053' ? 'camt.053.xml' : format}`
      await writeFile(join(folder, name), one.bytes)
      print('report', `${name}: ${one.rows} rows, ${one.bytes.length} bytes`)
      files += 1
    }
  return [
    { title: 'reports', agreed: `${files} files, each twice with the same bytes, in ${folder}`, differences },
    checkStatement(statement),
    {
      title: 'reconciliation',
      agreed: 'no difference',
      differences: reconciliation.split('\r\n').filter((row) => row.startsWith('difference,')),
    },
  ]
}

/** Opening and lines add up to closing. */
function checkStatement(text: string): Check {
  const minor = (cell = '') => BigInt(cell.replace('.', ''))
  const [head = [], ...rows] = text
    .trimEnd()
    .split('\r\n')
    .map((row) => row.split(','))
  const at = (name: string) => head.indexOf(name)
  const lines = rows.filter(([record]) => record === 'line')
  const balance = (record: string) => minor(rows.find(([first]) => first === record)?.[at('balance')])
  const sum = lines.reduce((total, row) => total + minor(row[at('amount')]), balance('opening'))
  const differences = sum === balance('closing') ? [] : [`${sum} minor units, and the closing balance says otherwise`]
  return { title: 'statement', agreed: `${lines.length} lines add up to the closing balance`, differences }
}
