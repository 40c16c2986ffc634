/** The numbers as one table: a row for each count, so that a spreadsheet groups them as it likes. */
import { csvCell, hourMs } from '../../kernel/index.ts'
import { ageBands } from './rules.ts'
import type { Numbers } from './service.ts'

const head = ['section', 'month', 'kind', 'name', 'outcome', 'age_days', 'count', 'false', 'median_hours', 'p90_hours']
const ageTexts = { upTo1: '0-1', upTo3: '2-3', upTo7: '4-7', upTo30: '8-30', older: '>30' } as const

const hours = (ms: number): string => (ms / hourMs).toFixed(2)

export function decisionsCsv({ open, decided, times, lists, rules, findings }: Numbers): string {
  const rows: readonly (readonly (string | number)[])[] = [
    ...open.flatMap(({ kind, ages }) =>
      ageBands.map((band) => ['open', '', kind, '', '', ageTexts[band], ages[band], '', '', '']),
    ),
    ...decided.map(({ month, kind, outcome, count }) => ['decided', month, kind, '', outcome, '', count, '', '', '']),
    ...times.map(({ month, kind, count, medianMs, ninetyMs }) => [
      ...['time', month ?? 'all', kind, '', '', '', count, '', hours(medianMs), hours(ninetyMs)],
    ]),
    ...lists.map(({ month, name, decided: count, falseHits }) => [
      ...['list', month, 'screening_hit', name, '', '', count, falseHits, '', ''],
    ]),
    ...rules.map(({ month, name, decided: count, falseHits }) => [
      ...['rule', month, 'monitoring_alert', name, '', '', count, falseHits, '', ''],
    ]),
    ...findings.map(({ month, kind, disposition, count }) => [
      ...['finding', month, kind, '', disposition, '', count, '', '', ''],
    ]),
  ]
  // Byte order mark: spreadsheets take the file as UTF-8.
  return `\uFEFF${[head, ...rows].map((row) => row.map((cell) => csvCell(String(cell))).join(',')).join('\r\n')}\r\n`
}
