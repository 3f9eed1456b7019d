/** What is read of esbuild's record of a build. */
export interface Metafile {
  readonly outputs: Record<string, { readonly inputs: Record<string, { readonly bytesInOutput: number }> }>;
}

export function notices(root: string, metafiles: readonly Metafile[]): string;
