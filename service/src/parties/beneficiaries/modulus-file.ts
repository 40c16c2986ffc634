/**
 * Pure: reads the files of the modulus check that Vocalink publishes: the table of weights (VALACDOS.txt) and the table of substitutes
 * (SCSUBTAB.txt). Source: "Validating account numbers: UK modulus checking", 2.3.2 and exception 5.
 */

const modulusMethods = ['MOD10', 'MOD11', 'DBLAL'] as const

export type WeightRow = {
  readonly method: (typeof modulusMethods)[number]
  /** Weights of the six digits of the sort code and the eight digits of the account. */
  readonly weights: readonly number[]
  readonly exception: number | null
}
/** Sort codes from `first` to `last`, inclusive. `line`: orders the first and the second check of a sort code. */
export type WeightRange = WeightRow & { readonly line: number; readonly first: string; readonly last: string }
export type SubstituteRow = { readonly original: string; readonly substitute: string }

/** An error in a file. Lines count from 1. */
export class ModulusFileError extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const exceptionMax = 14
const sortCode = /^\d{6}$/
const weight = /^-?\d{1,3}$/

const splitLines = (text: string): readonly (readonly [line: number, cells: readonly string[]])[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line, index) => [index + 1, line.trim().split(/\s+/).filter(Boolean)] as const)
    .filter(([, cells]) => cells.length > 0)

/** Reads the whole file or nothing. Throws ModulusFileError at the first wrong line. */
export function readWeights(text: string): readonly WeightRange[] {
  const rows = splitLines(text).map(([line, cells]): WeightRange => {
    const refuse = (message: string) => new ModulusFileError(line, message)
    const [first = '', last = '', name = '', ...numbers] = cells
    if (!sortCode.test(first) || !sortCode.test(last) || first > last)
      throw refuse('needs two sort codes, the lower first')
    const method = modulusMethods.find((each) => each === name.toUpperCase())
    if (method === undefined) throw refuse(`the method must be one of ${modulusMethods.join(', ')}`)
    if (numbers.length < 14 || numbers.length > 15 || !numbers.every((each) => weight.test(each)))
      throw refuse('needs 14 weights and an optional exception')
    const exception = numbers[14] === undefined ? null : Number(numbers[14])
    if (exception !== null && (exception < 1 || exception > exceptionMax))
      throw refuse(`the exceptions are 1 to ${exceptionMax}; ${exception} needs a newer version of this service`)
    return { line, first, last, method, weights: numbers.slice(0, 14).map(Number), exception }
  })
  if (rows.length === 0) throw new ModulusFileError(1, 'the file has no weights')
  return rows
}

/** Reads the whole file or nothing. Throws ModulusFileError at the first wrong line. */
export function readSubstitutes(text: string): readonly SubstituteRow[] {
  const rows = new Map<string, SubstituteRow>()
  for (const [line, [original = '', substitute = '', ...more]] of splitLines(text)) {
    if (!sortCode.test(original) || !sortCode.test(substitute) || more.length > 0)
      throw new ModulusFileError(line, 'needs two sort codes')
    if (rows.has(original)) throw new ModulusFileError(line, `the sort code ${original} is there twice`)
    rows.set(original, { original, substitute })
  }
  return [...rows.values()]
}
