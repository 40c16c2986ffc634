/** The periods of queries: a pair of times named `from` and `to`, or with names that end so, such as `createdFrom` and `createdTo`. */
import { type FieldError, timeInputPattern, type TSchema } from '@partner-payments/wire'
import { readTime, refuseFields } from '../api/index.ts'

type SchemaLike = { readonly properties?: Readonly<Record<string, { readonly pattern?: string }>> }

/**
 * Refuses (400, with a pointer) a period that ends before it begins, which would read as a list without rows. Equal times are an
 * empty period. The query has passed its schema.
 */
export function compilePeriods(schema: TSchema): (query: Readonly<Record<string, string>>) => void {
  const { properties = {} } = schema as SchemaLike
  const isTime = (name: string) => properties[name]?.pattern === timeInputPattern
  const periods = Object.keys(properties).flatMap((from) => {
    const to = from.replace(/from$/, 'to').replace(/From$/, 'To')
    return to !== from && isTime(from) && isTime(to) ? [{ from, to }] : []
  })
  return (query) => {
    refuseFields(
      periods.flatMap(({ from, to }): readonly FieldError[] => {
        const [begin, end] = [query[from], query[to]]
        if (begin === undefined || end === undefined || readTime(end) >= readTime(begin)) return []
        return [{ pointer: `/query/${to}`, code: 'out_of_range', message: `must not be before ${from}` }]
      }),
    )
  }
}
