// What is used of vscode-languageclient. It is most of the code, so esbuild.mjs makes it a bundle of its own, which is not even
// read before the server starts.
export {
  CloseAction,
  ErrorAction,
  ErrorCodes,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  State,
  type ChildProcessInfo,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
