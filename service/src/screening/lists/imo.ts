/** Pure: the number that the International Maritime Organization gives to a vessel for its life. */

/** Reports whether the last digit is the check digit (IMO Resolution A.1117(30)): the others, times 7 to 2, sum to it. */
export const isImoNumber = (text: string): boolean =>
  /^\d{7}$/.test(text) &&
  Array.from(text.slice(0, 6)).reduce((sum, digit, at) => sum + Number(digit) * (7 - at), 0) % 10 === Number(text[6])

/** Reads an IMO number as lists write it: `IMO 9187629`. Undefined: it is another number. */
export function readImoNumber(text: string): string | undefined {
  const [, number] = /^IMO\s*(\d{7})$/i.exec(text.trim()) ?? []
  return number !== undefined && isImoNumber(number) ? number : undefined
}
