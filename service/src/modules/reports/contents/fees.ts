/**
 * Fees: movements between the balance and `fees`, which also has written-off cases, with a total for each day (UTC) and
 * currency.
 */
import { amountText } from '../../../kernel/index.ts'
import type { Columns, Content, Head, Line, Row, Section } from './content.ts'
import { sectionsOf, type SectionDeps } from './sections.ts'

const columns: Columns = {
  record: 'plain',
  currency: 'plain',
  time: 'plain',
  id: 'plain',
  text: 'plain',
  reference: 'text',
  customerId: 'plain',
  count: 'number',
  amount: 'number',
}

export async function fees(deps: SectionDeps, partnerId: string, head: Head): Promise<Content> {
  const sections = await sectionsOf(deps, {
    partnerId,
    customerId: head.customer?.id ?? null,
    account: 'fees',
    counterAccount: 'balance',
    currency: head.currency,
    period: head.period,
    textOf: (_counter, amount) => (amount < 0n ? 'Fee refunded' : 'Fee'),
  })
  return { head, columns, sections, rows: () => feeRows(sections) }
}

type Total = { day: string; count: number; amount: bigint }

async function* feeRows(sections: readonly Section[]): AsyncGenerator<readonly Row[]> {
  for (const { currency, lines } of sections) {
    const amount = (minor: bigint) => amountText(minor, currency)
    const row = (line: Line): Row => ({
      record: 'line',
      currency,
      time: line.time,
      id: line.id,
      text: line.text,
      reference: line.reference,
      customerId: line.customerId,
      count: '1',
      amount: amount(line.amount),
    })
    const totalRow = (record: string, { day, count, amount: sum }: Total): Row => ({
      record,
      currency,
      time: day,
      count: String(count),
      amount: amount(sum),
    })
    const total: Total = { day: '', count: 0, amount: 0n }
    let ofDay: Total | undefined
    for await (const part of lines()) {
      const rows: Row[] = []
      for (const line of part) {
        const day = line.time.slice(0, 10)
        if (ofDay && ofDay.day !== day) rows.push(totalRow('day', ofDay))
        if (ofDay?.day !== day) ofDay = { day, count: 0, amount: 0n }
        for (const sum of [ofDay, total]) {
          sum.count += 1
          sum.amount += line.amount
        }
        rows.push(row(line))
      }
      if (rows.length > 0) yield rows
    }
    if (ofDay) yield [totalRow('day', ofDay)]
    yield [totalRow('total', total)]
  }
}
