/** Groups the digits of an exact amount and keeps its decimals. */
export function grouped(language: string, amount: string): string {
  const decimals = amount.split('.')[1]?.length ?? 0
  return new Intl.NumberFormat(language, { minimumFractionDigits: decimals }).format(
    amount as Intl.StringNumericLiteral,
  )
}
