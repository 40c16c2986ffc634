/** Positional number arguments of a program. */

/** Reads the numbers by name, or the defaults. Ends the program with exit code 2 for an option, a word that is not a number, or an extra argument. */
export function numbersGiven<N extends string>(
  defaults: Readonly<Record<N, number>>,
  given: readonly string[] = process.argv.slice(2),
): Readonly<Record<N, number>> {
  const names = Object.keys(defaults) as N[]
  const wrong = given.find((word, at) => at >= names.length || !/^\d[\d_]*$/.test(word))
  if (wrong !== undefined) {
    console.error(
      `unexpected argument "${wrong}"; usage: ${names.map((name) => `[${name} = ${defaults[name]}]`).join(' ')}`,
    )
    process.exit(2)
  }
  const values = names.map((name, at) => [name, Number(given[at]?.replaceAll('_', '') ?? defaults[name])] as const)
  return Object.fromEntries(values) as Record<N, number>
}
