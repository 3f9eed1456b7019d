// A language model of VS Code that nobody asks: without one, the chat calls no participant.
import { lm } from "vscode";

const model = {
  id: "fake",
  name: "Fake",
  family: "fake",
  version: "1",
  maxInputTokens: 100_000,
  maxOutputTokens: 4096,
  isUserSelectable: true,
  isDefault: true,
  capabilities: { toolCalling: true },
};

export function activate({ subscriptions }) {
  subscriptions.push(
    lm.registerLanguageModelChatProvider("fake", {
      provideLanguageModelChatInformation: () => [model],
      provideLanguageModelChatResponse: () => Promise.reject(new Error("The fake model says nothing.")),
      provideTokenCount: (_, text) => String(text).length,
    }),
  );
  return lm.selectChatModels({ vendor: "fake" }); // else the chat does not know it at its first request
}
