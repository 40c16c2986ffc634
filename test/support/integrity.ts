/** The findings of all comparisons of a partner's rows, as `operator ledger check` makes them. */
import { comparisons, type Finding, findingsMax } from '../../service/src/ledger/integrity/index.ts'
import type { Tx } from '../../service/src/postgres/index.ts'

export async function ledgerFindings(tx: Tx, partnerId: string): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const compare of Object.values(comparisons)) findings.push(...(await compare(tx, partnerId, findingsMax)))
  return findings
}
