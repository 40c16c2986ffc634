/** Reads the times of requests. The schema `timeInput` has refused, with a pointer, every text that is not such a time. */
import { timeInputPattern } from '@partner-payments/wire'
import { assert } from '../index.ts'

const form = new RegExp(timeInputPattern)
const wholeSecondsChars = 'YYYY-MM-DDTHH:MM:SS'.length
const millisecondDigits = 3

/** Digits after the milliseconds are dropped, because stored times have milliseconds. */
export function readTime(text: string): Date {
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? []
  const milliseconds = fraction.slice(0, millisecondDigits).padEnd(millisecondDigits, '0')
  const time = new Date(`${text.slice(0, wholeSecondsChars).toUpperCase()}.${milliseconds}Z`)
  assert(form.test(text) && !Number.isNaN(time.getTime()), 'a time has passed its schema')
  return time
}
